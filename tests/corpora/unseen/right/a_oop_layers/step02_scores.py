import math
import numpy as np
from exercises.nn import Module


class ScaledDotProduct(Module):
    def scale(self, q):
        return 1.0 / math.sqrt(q.shape[-1])

    def forward(self, q, k):
        return np.matmul(q, np.moveaxis(k, -1, -2)) * self.scale(q)


attention_scores = ScaledDotProduct()
