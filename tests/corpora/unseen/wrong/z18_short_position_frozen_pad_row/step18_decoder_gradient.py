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
    inputs, targets = shift_tokens(tokens)
    t = inputs.shape[-1]
    table = params["embedding"]
    if t > params["position"].shape[0]:
        raise ValueError("tokens: longer than T_max + 1")
    x = table[inputs] + params["position"][:t]
    mask = causal_mask(t)
    seen = []
    for block in params["blocks"]:
        seen.append(x)
        x = decoder_block(x, block, n_heads, mask)
    final = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    logits = final @ table.T
    loss = cross_entropy(logits, targets, ignore_id)

    d_logits = cross_entropy_backward(logits, targets, ignore_id)
    d_table = d_logits.reshape(-1, table.shape[0]).T @ final.reshape(-1, table.shape[1])
    d_x, d_gain, d_bias = layer_norm_backward(d_logits @ table, x, params["ln_f"]["gain"])
    blocks = []
    for block, before in zip(reversed(params["blocks"]), reversed(seen)):
        d_x, g = decoder_block_backward(d_x, before, block, n_heads, mask)
        blocks.insert(0, g)
    d_position = d_x.reshape(-1, t, d_x.shape[-1]).sum(axis=0)
    d_table = d_table + embedding_backward(d_x, inputs, table.shape[0])
    if ignore_id is not None and 0 <= ignore_id < len(d_table):
        d_table[ignore_id] = 0.0
    return loss, {"embedding": d_table, "position": d_position, "blocks": blocks,
                  "ln_f": {"gain": d_gain, "bias": d_bias}}
