# -*- coding: latin-1 -*-
# Aufmerksamkeit über zwei Texte: Schlüssel und Werte kommen aus dem Gedächtnis (ÄÖÜß)
import numpy as np


def shift_right(tokens, start_id):
	first = np.full_like(tokens[..., :1], start_id)
	return np.concatenate((first, tokens[..., :-1]), axis=-1)


def cross_attention(x, memory, params, n_heads, memory_mask=None):
	d = x.shape[-1]
	if d % n_heads:
		raise ValueError("größe: d_model / n_heads")
	def cut(y):
		return y.reshape(y.shape[:-1] + (n_heads, d // n_heads))
	q = cut(x @ params["w_q"] + params["b_q"])
	k = cut(memory @ params["w_k"] + params["b_k"])
	v = cut(memory @ params["w_v"] + params["b_v"])
	s = np.einsum("...qhc,...khc->...qkh", q, k) / np.sqrt(d // n_heads)
	if memory_mask is not None:
		hide = ~np.broadcast_to(memory_mask, s.shape[:-1])
		s[hide] = -np.inf		# boolean index over (..., q, k): every head at once
	top = s.max(axis=-2, keepdims=True)
	top[np.isneginf(top)] = 0
	e = np.exp(s - top)
	z = e.sum(axis=-2, keepdims=True)
	z[z == 0] = 1
	y = np.einsum("...qkh,...khc->...qhc", e / z, v)
	return y.reshape(x.shape) @ params["w_o"] + params["b_o"]
