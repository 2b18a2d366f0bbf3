import math
import numpy as np


def softmax_of_list(numbers):
    biggest = max(numbers)
    if biggest == -math.inf:
        return [0.0 for n in numbers]
    powers = []
    for n in numbers:
        powers.append(math.exp(n - biggest))
    total = sum(powers)
    return [p / total for p in powers]


def softmax(scores, axis=-1):
    turned = np.moveaxis(scores, axis, -1)
    result = np.zeros(turned.shape)
    for index in np.ndindex(*turned.shape[:-1]):
        result[index] = softmax_of_list(turned[index].tolist())
    return np.moveaxis(result, -1, axis)
