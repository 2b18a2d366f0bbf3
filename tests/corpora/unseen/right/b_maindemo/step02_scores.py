import numpy as np


def attention_scores(q, k):
    q = q * (1 / np.sqrt(q.shape[-1]))
    return np.matmul(q, np.moveaxis(k, -1, -2))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(attention_scores(rng.normal(size=(2, 4)), rng.normal(size=(3, 4))))
