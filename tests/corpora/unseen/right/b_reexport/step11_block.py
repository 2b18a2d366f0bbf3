from exercises.my_decoder import decoder_block, feed_forward, gelu, layer_norm  # noqa: F401
