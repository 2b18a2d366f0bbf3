import numpy as np


class Leaf:
    """Descriptor: an attribute that reads a key of the wrapped dict."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        return self if obj is None else obj.raw[self.name]


class Node(Leaf):
    def __init__(self, kind):
        self.kind = kind

    def __get__(self, obj, owner=None):
        return self if obj is None else self.kind(obj.raw[self.name])


class Tree:
    __slots__ = ("raw",)

    def __init__(self, raw):
        self.raw = raw


class Norm(Tree):
    gain, bias = Leaf(), Leaf()

    def __call__(self, x, eps=1e-5):
        c = x - np.mean(x, axis=-1, keepdims=True, dtype=np.float64)
        return c * self.gain / np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + eps) + self.bias


class Attention(Tree):
    w_q, w_k, w_v, w_o = Leaf(), Leaf(), Leaf(), Leaf()
    b_q, b_k, b_v, b_o = Leaf(), Leaf(), Leaf(), Leaf()

    def __call__(self, x, n_heads, mask):
        *batch, t, d = x.shape
        if n_heads < 1 or d % n_heads:
            raise ValueError("n_heads")
        dh = d // n_heads
        w = np.reshape
        q = np.einsum("...ti,ihc->...htc", x, w(self.w_q, (d, n_heads, dh))) + w(self.b_q, (n_heads, 1, dh))
        k = np.einsum("...ti,ihc->...htc", x, w(self.w_k, (d, n_heads, dh))) + w(self.b_k, (n_heads, 1, dh))
        v = np.einsum("...ti,ihc->...htc", x, w(self.w_v, (d, n_heads, dh))) + w(self.b_v, (n_heads, 1, dh))
        s = np.einsum("...qc,...kc->...qk", q, k) / dh ** 0.5
        see = np.ones((t, t), bool) if mask is None else np.broadcast_to(mask, (*batch, t, t))[..., None, :, :]
        s = np.where(see, s, -np.inf)
        top = s.max(-1, keepdims=True, initial=-1e300)
        e = np.exp(s - top)
        z = e.sum(-1, keepdims=True)
        p = np.divide(e, z, out=np.zeros_like(e), where=z != 0)
        return np.einsum("...hqk,...hkc,hco->...qo", p, v, w(self.w_o, (n_heads, dh, d)), optimize=True) + self.b_o


class FeedForward(Tree):
    w_in, b_in, w_out, b_out = Leaf(), Leaf(), Leaf(), Leaf()

    @staticmethod
    def gelu(x):
        # x · sigmoid(2u) = x (1 + tanh u) / 2
        u2 = np.sqrt(8 / np.pi) * (x + 0.044715 * np.power(x, 3))
        return x * np.exp(-np.logaddexp(0, -u2))

    def __call__(self, x):
        return self.gelu(x @ self.w_in + self.b_in) @ self.w_out + self.b_out


class Block(Tree):
    ln_1, ln_2, attention, feed_forward = Node(Norm), Node(Norm), Node(Attention), Node(FeedForward)

    def __call__(self, x, n_heads, mask):
        x = x + self.attention(self.ln_1(x), n_heads, mask)
        return x + self.feed_forward(self.ln_2(x))


class Decoder(Tree):
    embedding, position, blocks, ln_f = Leaf(), Leaf(), Leaf(), Node(Norm)
