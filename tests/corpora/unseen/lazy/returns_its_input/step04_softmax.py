def softmax(scores, axis=-1): return scores
