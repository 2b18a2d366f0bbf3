import numpy as np
from exercises.helpers import grad_tree
from exercises.step12_decoder import GPT2

class Loss:
    def __init__(self, tokens, params, n_heads, ignore_id):
        if tokens.shape[-1] < 2: raise ValueError("T < 2")
        self.model = GPT2(params, n_heads)
        inputs, targets = tokens[..., :-1], tokens[..., 1:]
        keep = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
        if not keep.any(): raise ValueError("nothing to predict")
        self.value = self.model(inputs).nll(targets, keep)
    def gradients(self):
        self.model.tape.backward(self.value, 1.0)
        return grad_tree(self.model.params)

def decoder_loss(tokens, params, n_heads, ignore_id=None):
    return Loss(tokens, params, n_heads, ignore_id).value.value.item()

def decoder_loss_and_gradients(tokens, params, n_heads, ignore_id=None):
    loss = Loss(tokens, params, n_heads, ignore_id)
    return loss.value.value, loss.gradients()
