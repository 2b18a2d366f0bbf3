import exercises.my_utils as _u
decoder_logits = _u.decoder_logits
