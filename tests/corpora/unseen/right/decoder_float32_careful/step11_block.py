import numpy as np
from numpy.typing import NDArray
from exercises.step09_heads import multi_head_attention

def layer_norm(x: NDArray, gain: NDArray, bias: NDArray, eps: float = 1e-5) -> NDArray:
    wide = x.astype(np.float64)                 # means of float32 in float64
    y = (wide - np.mean(wide, axis=-1, keepdims=True)) / np.sqrt(np.var(wide, axis=-1, keepdims=True) + eps)
    return (y * gain + bias).astype(np.result_type(x, gain, bias))

def gelu(x: NDArray) -> NDArray:
    one = x.dtype.type
    root, cubic = one(np.sqrt(2 / np.pi)), one(0.044715)
    # far from 0 the cube is not needed (and could overflow in float32): tanh is +-1 there
    near = np.clip(x, -20, 20)
    return (one(0.5) * x * (one(1) + np.tanh(root * (near + cubic * near * near * near)))).astype(x.dtype)

def feed_forward(x: NDArray, params: dict) -> NDArray:
    return gelu(x @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]

def decoder_block(x: NDArray, params: dict, n_heads: int, mask: NDArray | None) -> NDArray:
    x = x + multi_head_attention(layer_norm(x, **params["ln_1"]), params["attention"], n_heads, mask)
    return x + feed_forward(layer_norm(x, **params["ln_2"]), params["feed_forward"])
