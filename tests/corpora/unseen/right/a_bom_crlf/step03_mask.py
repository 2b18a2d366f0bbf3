import numpy as np

# μάσκες

def causal_mask(t_q, t_k=None):
	"""tabs for indentation, as Notepad gives them"""
	if t_k is None:
		t_k = t_q
	if t_k < t_q:
		raise ValueError("t_k < t_q")
	m = np.zeros((t_q, t_k), dtype=bool)
	for i in range(t_q):
		m[i, : t_k - t_q + i + 1] = True
	return m

def padding_mask(tokens, pad_id):
	return ~(tokens[..., np.newaxis, :] == pad_id)

def additive_mask(mask):
	table = np.array([-np.inf, 0.0])
	return table[np.asarray(mask).astype(int)]

def apply_mask(scores, mask):
	return scores + additive_mask(mask)
