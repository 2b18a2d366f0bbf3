import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step06_loss import cross_entropy
from exercises.step11_block import decoder_block, layer_norm
from exercises.step12_decoder import decoder_logits
from exercises.step15_gradients import cross_entropy_backward
from exercises.step17_block_gradient import decoder_block_backward, layer_norm_backward

def check(tokens, params):
    if tokens.shape[-1] < 2:
        raise ValueError('one token has no next token')
    if tokens.shape[-1] > len(params['position']) + 1:
        raise ValueError('too many tokens')

def decoder_loss(tokens, params, n_heads, ignore_id=None):
    check(tokens, params)
    return cross_entropy(decoder_logits(tokens[..., :-1], params, n_heads), tokens[..., 1:], ignore_id)

def zeros_like_tree(tree):
    if isinstance(tree, dict):
        return {name: zeros_like_tree(tree[name]) for name in tree}
    if isinstance(tree, list):
        return [zeros_like_tree(t) for t in tree]
    return np.zeros(tree.shape)

def add_tree(a, b):
    # adds b into a
    if isinstance(a, dict):
        for name in a:
            add_tree(a[name], b[name])
    elif isinstance(a, list):
        for i in range(len(a)):
            add_tree(a[i], b[i])
    else:
        a += b

def one_sequence(inputs, d_logits, params, n_heads, grads):
    T = len(inputs)
    mask = causal_mask(T)
    x = params['embedding'][inputs] + params['position'][:T]
    before = []
    for block in params['blocks']:
        before.append(x)
        x = decoder_block(x, block, n_heads, mask)
    h = layer_norm(x, params['ln_f']['gain'], params['ln_f']['bias'])
    grads['embedding'] += np.dot(d_logits.T, h)
    d, g, b = layer_norm_backward(np.dot(d_logits, params['embedding']), x, params['ln_f']['gain'])
    grads['ln_f']['gain'] += g
    grads['ln_f']['bias'] += b
    for i in reversed(range(len(before))):
        d, g = decoder_block_backward(d, before[i], params['blocks'][i], n_heads, mask)
        add_tree(grads['blocks'][i], g)
    for t in range(T):
        grads['embedding'][inputs[t]] += d[t]
        grads['position'][t] += d[t]

def decoder_loss_and_gradients(tokens, params, n_heads, ignore_id=None):
    check(tokens, params)
    inputs, targets = tokens[..., :-1], tokens[..., 1:]
    logits = decoder_logits(inputs, params, n_heads)
    loss = cross_entropy(logits, targets, ignore_id)
    d_logits = cross_entropy_backward(logits, targets, ignore_id)
    grads = zeros_like_tree(params)
    for index in np.ndindex(inputs.shape[:-1]):
        one_sequence(inputs[index], d_logits[index], params, n_heads, grads)
    return loss, grads
