def _no(*args, **kwargs): raise ValueError("tokens")
shift_tokens = log_softmax = cross_entropy = sequence_log_prob = next_token_logits = teacher_forced_loss = _no
