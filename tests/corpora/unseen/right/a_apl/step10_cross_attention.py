from numpy import arange, broadcast_to as B, roll, where
from exercises.step05_output import attention as A
from exercises.step09_heads import merge_heads as M, split_heads as S

shift_right = lambda tokens, start_id: where(arange(tokens.shape[-1]) == 0, start_id, roll(tokens, 1, -1))
cross_attention = lambda x, memory, params, n_heads, memory_mask=None: M(A(*(S(y @ params["w_" + c] + params["b_" + c], n_heads) for y, c in zip((x, memory, memory), "qkv")), B(True if memory_mask is None else memory_mask, x.shape[:-1] + memory.shape[-2:-1])[..., None, :, :])) @ params["w_o"] + params["b_o"]
