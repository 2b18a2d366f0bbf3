# 翻訳：エンコーダの記憶を見る
import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def shift_right(tokens, start_id):
    結果 = tokens.copy()
    結果[..., 1:] = tokens[..., :-1]
    結果[..., 0] = start_id
    return 結果


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    def 射影(入力, 名):
        return split_heads(linear(入力, params["w_" + 名], params["b_" + 名]), n_heads)

    if memory_mask is not None:
        形 = x.shape[:-1] + (memory.shape[-2],)
        memory_mask = np.broadcast_to(memory_mask, 形)[..., None, :, :]
    出力 = attention(射影(x, "q"), 射影(memory, "k"), 射影(memory, "v"), memory_mask)
    return linear(merge_heads(出力), params["w_o"], params["b_o"])
