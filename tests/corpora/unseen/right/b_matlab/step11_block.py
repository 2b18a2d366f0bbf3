import numpy as np

from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    n = x.shape[-1]
    X = np.reshape(x, (-1, n)).T  # every column is one activation vector
    mu = np.mean(X, axis=0)
    s2 = np.var(X, axis=0)  # var(X, 1)
    Y = np.zeros(X.shape)
    for c in range(1, X.shape[1] + 1):
        Y[:, c - 1] = (X[:, c - 1] - mu[c - 1]) / np.sqrt(s2[c - 1] + eps) * gain + bias
    return np.reshape(Y.T, x.shape)


def gelu(x):
    c = np.sqrt(2 / np.pi)
    return 0.5 * x * (1 + np.tanh(c * (x + 0.044715 * np.power(x, 3))))


def feed_forward(x, params):
    h = gelu(np.matmul(x, params["w_in"]) + params["b_in"])
    return np.matmul(h, params["w_out"]) + params["b_out"]


def decoder_block(x, params, n_heads, mask):
    p = params["ln_1"]
    a = multi_head_attention(layer_norm(x, p["gain"], p["bias"]), params["attention"], n_heads, mask)
    x = x + a
    p = params["ln_2"]
    f = feed_forward(layer_norm(x, p["gain"], p["bias"]), params["feed_forward"])
    x = x + f
    return x
