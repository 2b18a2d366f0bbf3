import math
import numpy as np
from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import split_heads, merge_heads, multi_head_attention
from exercises.step11_block import gelu, layer_norm
from exercises.step15_gradients import linear_backward
from exercises.step16_attention_gradient import attention_backward

def layer_norm_backward(d_out, x, gain, eps=1e-5):
    # the Jacobian of each row, written out
    d_x = np.zeros(x.shape)
    d_gain = np.zeros(gain.shape)
    d_bias = np.zeros(gain.shape)
    n = x.shape[-1]
    for index in np.ndindex(x.shape[:-1]):
        row = x[index].astype(float)
        mean = row.mean()
        std = math.sqrt(((row - mean) ** 2).mean() + eps)
        for i in range(n):
            hat = (row[i] - mean) / std
            d_gain[i] += d_out[index][i] * hat
            d_bias[i] += d_out[index][i]
            for j in range(n):
                hat_j = (row[j] - mean) / std
                kron = 1 if i == j else 0
                d_x[index][j] += d_out[index][i] * gain[i] * (kron - 1 / n - hat * hat_j / n) / std
    return d_x, d_gain, d_bias

def gelu_backward(d_out, x):
    result = []
    for d, a in zip(d_out.flatten(), x.flatten()):
        a = float(a)
        c = math.sqrt(2 / math.pi)
        th = math.tanh(c * (a + 0.044715 * a ** 3))
        result.append(d * (0.5 * (1 + th) + 0.5 * a * (1 - th ** 2) * c * (1 + 3 * 0.044715 * a ** 2)))
    return np.array(result).reshape(x.shape)

def feed_forward_backward(d_out, x, params):
    grads = {}
    before = np.dot(x, params['w_in']) + params['b_in']
    hidden = gelu(before)
    d_hidden, grads['w_out'], grads['b_out'] = linear_backward(d_out, hidden, params['w_out'])
    d_before = gelu_backward(d_hidden, before)
    d_x, grads['w_in'], grads['b_in'] = linear_backward(d_before, x, params['w_in'])
    return d_x, grads

def multi_head_attention_backward(d_out, x, params, n_heads, mask=None):
    q = split_heads(np.dot(x, params['w_q']) + params['b_q'], n_heads)
    k = split_heads(np.dot(x, params['w_k']) + params['b_k'], n_heads)
    v = split_heads(np.dot(x, params['w_v']) + params['b_v'], n_heads)
    d_q, d_k, d_v = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    ys = []
    for h in range(n_heads):
        ys.append(attention(q[..., h, :, :], k[..., h, :, :], v[..., h, :, :], mask))
    grads = {}
    d_y, grads['w_o'], grads['b_o'] = linear_backward(d_out, np.concatenate(ys, -1), params['w_o'])
    d_heads = split_heads(d_y, n_heads)
    for h in range(n_heads):
        d_q[..., h, :, :], d_k[..., h, :, :], d_v[..., h, :, :] = attention_backward(d_heads[..., h, :, :], q[..., h, :, :], k[..., h, :, :], v[..., h, :, :], mask)
    d_x1, grads['w_q'], grads['b_q'] = linear_backward(merge_heads(d_q), x, params['w_q'])
    d_x2, grads['w_k'], grads['b_k'] = linear_backward(merge_heads(d_k), x, params['w_k'])
    d_x3, grads['w_v'], grads['b_v'] = linear_backward(merge_heads(d_v), x, params['w_v'])
    return d_x1 + d_x2 + d_x3, grads

def decoder_block_backward(d_out, x, params, n_heads, mask):
    n1 = layer_norm(x, params['ln_1']['gain'], params['ln_1']['bias'])
    middle = x + multi_head_attention(n1, params['attention'], n_heads, mask)
    n2 = layer_norm(middle, params['ln_2']['gain'], params['ln_2']['bias'])
    grads = {'ln_1': {}, 'ln_2': {}}
    d_n2, grads['feed_forward'] = feed_forward_backward(d_out, n2, params['feed_forward'])
    d_middle, grads['ln_2']['gain'], grads['ln_2']['bias'] = layer_norm_backward(d_n2, middle, params['ln_2']['gain'])
    d_middle = d_middle + d_out
    d_n1, grads['attention'] = multi_head_attention_backward(d_middle, n1, params['attention'], n_heads, mask)
    d_x, grads['ln_1']['gain'], grads['ln_1']['bias'] = layer_norm_backward(d_n1, x, params['ln_1']['gain'])
    return d_x + d_middle, grads
