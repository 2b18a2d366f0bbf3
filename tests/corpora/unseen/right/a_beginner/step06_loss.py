import math
import numpy as np
from exercises.step01_projections import linear
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens is too short!")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax_of_list(numbers):
    biggest = max(numbers)
    total = 0.0
    for n in numbers:
        total += math.exp(n - biggest)
    result = []
    for n in numbers:
        result.append((n - biggest) - math.log(total))
    return result


def log_softmax(logits):
    result = np.zeros(logits.shape)
    for index in np.ndindex(*logits.shape[:-1]):
        result[index] = log_softmax_of_list(logits[index].tolist())
    return result


def cross_entropy(logits, targets, ignore_id=None):
    losses = []
    for index in np.ndindex(*targets.shape):
        target = int(targets[index])
        if ignore_id is None or target != ignore_id:
            losses.append(-log_softmax_of_list(logits[index].tolist())[target])
    if len(losses) == 0:
        raise ValueError("every target is ignored!")
    return sum(losses) / len(losses)


def sequence_log_prob(logits, targets):
    result = np.zeros(targets.shape[:-1])
    for index in np.ndindex(*targets.shape):
        result[index[:-1]] += log_softmax_of_list(logits[index].tolist())[targets[index]]
    return result


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > len(params["position"]):
        raise ValueError("tokens is too long!")
    x = np.zeros(tokens.shape + (params["embedding"].shape[1],))
    for index in np.ndindex(*tokens.shape):
        x[index] = params["embedding"][tokens[index]] + params["position"][index[-1]]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return linear(y, params["w_out"])


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    logits = next_token_logits(inputs, params)
    return cross_entropy(logits, targets)
