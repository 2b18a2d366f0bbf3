import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step06_loss import cross_entropy, shift_tokens
from exercises.step11_block import decoder_block, layer_norm
from exercises.step12_decoder import decoder_logits
from exercises.step15_gradients import cross_entropy_backward, embedding_backward
from exercises.step17_block_gradient import decoder_block_backward, layer_norm_backward


def decoder_loss(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)


def decoder_loss_and_gradients(tokens, params, n_heads, ignore_id=None):
    inp, tgt = shift_tokens(tokens)
    E, T = params["embedding"], inp.shape[-1]
    if T > len(params["position"]):
        raise ValueError("T_max")
    mask = causal_mask(T)
    hs = [E[inp] + params["position"][:T]]
    for b in params["blocks"]:
        hs.append(decoder_block(hs[-1], b, n_heads, mask))
    f = layer_norm(hs[-1], **params["ln_f"])
    logits = f @ E.T
    loss = cross_entropy(logits, tgt, ignore_id)
    dl = cross_entropy_backward(logits, tgt, ignore_id)
    head = np.einsum("...v,...d->vd", dl, f)
    d, gg, gb = layer_norm_backward(dl @ E, hs[-1], params["ln_f"]["gain"])
    blocks = []
    for i in reversed(range(len(params["blocks"]))):
        d, g = decoder_block_backward(d, hs[i], params["blocks"][i], n_heads, mask)
        blocks.insert(0, g)
    pos = d.reshape(-1, T, d.shape[-1]).sum(0)
    return loss, {"embedding": head + embedding_backward(d, inp, len(E)), "position": pos, "blocks": blocks, "ln_f": {"gain": gg, "bias": gb}}
