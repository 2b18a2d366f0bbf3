# vim: set fileencoding=utf-8 :
import numpy as np

IGNORE = -100


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
	chosen = select < rate
	# 0: stays, 1: mask, 2: random
	kind = np.where(replace < 0.8, 1, np.where(replace < 0.9, 2, 0)) * chosen
	corrupted = np.choose(kind, (tokens, mask_id, random_ids))
	targets = np.choose(chosen.astype(int), (IGNORE, tokens))
	return corrupted, targets


def masked_lm_loss(logits, targets):
	logits = logits.reshape(-1, logits.shape[-1])
	targets = targets.reshape(-1)
	rows = np.flatnonzero(targets - IGNORE)
	if rows.size == 0:
		raise ValueError("targets: kein einziges gewählt")
	z = logits[rows].astype("f8")
	z -= z.max(axis=1)[:, None]
	loss = np.log(np.exp(z).sum(axis=1)) - z[np.arange(rows.size), targets[rows]]
	return float(loss.mean())
