"""Le bloc : normalisation, attention, réseau à une couche cachée."""
import numpy as np

from exercises.step09_heads import multi_head_attention


def layer_norm(x, gain, bias, eps=1e-5):
    """Moyenne nulle, écart-type un (variance biaisée)."""
    écart = x - x.mean(-1, keepdims=True)
    return écart / np.sqrt((écart * écart).mean(-1, keepdims=True) + eps) * gain + bias


def gelu(x):
    """À la façon de GPT-2."""
    α, β = np.sqrt(2 / np.pi), 0.044715
    return x / 2 * (1 + np.tanh(α * (x + β * x**3)))


def feed_forward(x, params):
    caché = gelu(x @ params["w_in"] + params["b_in"])
    return caché @ params["w_out"] + params["b_out"]


def decoder_block(x, params, n_heads, mask):
    """D'abord l'attention, après le réseau : deux résidus."""
    n1, n2 = params["ln_1"], params["ln_2"]
    milieu = x + multi_head_attention(layer_norm(x, n1["gain"], n1["bias"]), params["attention"], n_heads, mask)
    return milieu + feed_forward(layer_norm(milieu, n2["gain"], n2["bias"]), params["feed_forward"])
