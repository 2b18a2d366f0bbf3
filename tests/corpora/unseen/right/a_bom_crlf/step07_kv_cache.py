import numpy as np
from exercises.step03_mask import causal_mask, apply_mask
from exercises.step04_softmax import softmax
from exercises.step02_scores import attention_scores
from exercises.step05_output import attention_output

"""
κρυφή μνήμη:
αντικείμενο με δύο λίστες
"""

class Μνήμη:
	def __init__(self):
		self.κ = []
		self.τ = []

def new_cache():
	return Μνήμη()

def attend_with_cache(x_new, cache, w_q, w_k, w_v):
	cache.κ.append(x_new @ w_k)
	cache.τ.append(x_new @ w_v)
	if len(cache.κ) > 32:
		cache.κ = [np.concatenate(cache.κ, axis=-2)]
		cache.τ = [np.concatenate(cache.τ, axis=-2)]
	q = x_new @ w_q
	s = np.concatenate([attention_scores(q, k) for k in cache.κ], axis=-1)
	w = softmax(apply_mask(s, causal_mask(*s.shape[-2:])))
	ends = np.cumsum([k.shape[-2] for k in cache.κ])[:-1]
	return sum(attention_output(p, v) for p, v in zip(np.split(w, ends, axis=-1), cache.τ)), cache
