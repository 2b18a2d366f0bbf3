import numpy as np

def softmax(scores, axis=-1):
	top = scores.max(axis, keepdims=True)
	top = np.nan_to_num(top, neginf=0.0)
	e = np.exp(scores - top)
	z = e.sum(axis, keepdims=True)
	return e * np.reciprocal(z, out=np.zeros_like(z), where=z != 0)
