import numpy as np
def softmax(scores, axis=-1): return np.zeros(scores.shape)
