import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step06_loss import cross_entropy
from exercises.step11_block import decoder_block, layer_norm
from exercises.step12_decoder import decoder_logits
from exercises.step15_gradients import cross_entropy_backward
from exercises.step17_block_gradient import decoder_block_backward, layer_norm_backward


def _check(tokens, params):
    T = tokens.shape[-1]
    if T < 2 or T > params["position"].shape[0] + 1:
        raise ValueError("bad length")


def decoder_loss(tokens, params, n_heads, ignore_id=None):
    _check(tokens, params)
    return cross_entropy(decoder_logits(tokens[..., :-1], params, n_heads), tokens[..., 1:], ignore_id)


def decoder_loss_and_gradients(tokens, params, n_heads, ignore_id=None):
    _check(tokens, params)
    idx, targets = tokens[..., :-1], tokens[..., 1:]
    t = idx.shape[-1]
    wte, wpe = params["embedding"], params["position"]
    x = wte[idx] + wpe[:t]
    mask = causal_mask(t)
    acts = []
    for block in params["blocks"]:
        acts.append(x)
        x = decoder_block(x, block, n_heads, mask)
    ln_f = params["ln_f"]
    y = layer_norm(x, ln_f["gain"], ln_f["bias"])
    logits = y @ wte.T
    loss = cross_entropy(logits, targets, ignore_id)
    dlogits = cross_entropy_backward(logits, targets, ignore_id)
    dwte = dlogits.reshape(-1, len(wte)).T @ y.reshape(-1, y.shape[-1])
    dx, dg, db = layer_norm_backward(dlogits @ wte, x, ln_f["gain"])
    dblocks = []
    for block, a in zip(params["blocks"][::-1], acts[::-1]):
        dx, g = decoder_block_backward(dx, a, block, n_heads, None)
        dblocks.insert(0, g)
    np.add.at(dwte, idx, dx)
    dwpe = np.zeros_like(wpe)
    dwpe[:t] = dx.reshape(-1, t, dx.shape[-1]).sum(0)
    return loss, {"embedding": dwte, "position": dwpe, "blocks": dblocks, "ln_f": {"gain": dg, "bias": db}}
