import numpy as np
from exercises.nn import Module


class Softmax(Module):
    empty = 0.0

    def shift(self, scores, axis):
        top = np.amax(scores, axis=axis, keepdims=True)
        return scores - np.where(np.isneginf(top), self.empty, top)

    def forward(self, scores, axis=-1):
        e = np.exp(self.shift(scores, axis))
        total = e.sum(axis=axis, keepdims=True)
        return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


softmax = Softmax()
