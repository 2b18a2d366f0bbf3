from exercises.my_decoder import decoder_logits  # noqa: F401
