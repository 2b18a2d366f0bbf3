from exercises.fields import Block, FeedForward, Norm

gelu = FeedForward.gelu


def layer_norm(x, gain, bias, eps=1e-5):
    return Norm({"gain": gain, "bias": bias})(x, eps)


def feed_forward(x, params):
    return FeedForward(params)(x)


def decoder_block(x, params, n_heads, mask):
    return Block(params)(x, n_heads, mask)
