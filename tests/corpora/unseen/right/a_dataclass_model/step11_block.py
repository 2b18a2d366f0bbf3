from exercises.model import Block, Mlp, Norm

gelu = Mlp.gelu


def layer_norm(x, gain, bias, eps=1e-5):
    return Norm(gain, bias, eps)(x)


def feed_forward(x, params):
    return Mlp.from_params(params)(x)


def decoder_block(x, params, n_heads, mask):
    return Block.from_params(params, n_heads)(x, mask)[0]
