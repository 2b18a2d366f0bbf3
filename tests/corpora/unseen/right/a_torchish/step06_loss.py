from exercises import torchlike as torch
from exercises.step05_output import masked_self_attention
import numpy as np


def shift_tokens(tokens):
    if torch.size(tokens, -1) < 2:
        raise ValueError("tokens")
    return torch.contiguous(tokens[..., :-1]), torch.contiguous(tokens[..., 1:])


def log_softmax(logits):
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - torch.logsumexp(shifted, -1, keepdim=True)


def cross_entropy(logits, targets, ignore_id=None):
    logits = torch.view(logits, -1, torch.size(logits, -1))
    targets = torch.view(targets, -1)
    if ignore_id is not None:
        keep = targets != ignore_id
        logits, targets = logits[keep], targets[keep]
    if targets.size == 0:
        raise ValueError("targets")
    nll = -torch.gather(log_softmax(logits), 1, torch.unsqueeze(targets, 1))
    return nll.mean().item()


def sequence_log_prob(logits, targets):
    lp = torch.gather(log_softmax(logits), -1, torch.unsqueeze(targets, -1))
    return torch.squeeze(lp, -1).sum(-1)


def next_token_logits(tokens, params):
    T = torch.size(tokens, -1)
    if T > torch.size(params["position"], 0):
        raise ValueError("Cannot forward sequence of length %d" % T)
    x = torch.F.embedding(tokens, params["embedding"]) + torch.F.embedding(np.arange(T), params["position"])
    x = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return torch.F.linear(x, torch.transpose(params["w_out"], 0, 1))


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
