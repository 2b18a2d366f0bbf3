# -*- coding: cp1252 -*-
# “sampling” – costs 0 €, œuvre de l’élève
import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache

MESSAGE = "“%s” n’est pas permis – 5 €"


def sample_token(logits, u, temperature=1.0, top_k=None):
    if not temperature >= 0:
        raise ValueError(MESSAGE % "temperature")
    if top_k is not None and not top_k >= 1:
        raise ValueError(MESSAGE % "top_k")
    if temperature == 0:
        return logits.argmax(-1)
    v = logits.shape[-1]
    order = np.argsort(-logits, axis=-1, kind="stable")
    if top_k is not None:
        order = order[..., :top_k]
    order = np.sort(order, axis=-1)                      # back to vocabulary order
    z = np.take_along_axis(logits, order, axis=-1)
    z = (z - z.max(axis=-1, keepdims=True)) / temperature
    total = np.cumsum(softmax(z), axis=-1)
    total[..., -1] = 1.0                                 # u < 1: the last kept one catches the rest
    at = np.argmax(total > np.asarray(u)[..., None], axis=-1)
    return np.take_along_axis(order, at[..., None], axis=-1)[..., 0]


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    length = prompt.shape[-1]
    if length + n_new > params["position"].shape[0]:
        raise ValueError(MESSAGE % "n_new")
    if temperature > 0 and u is None:
        raise ValueError(MESSAGE % "u")
    état = new_cache()
    mots = np.array(prompt)
    début = 0
    for i in range(n_new):
        x = params["embedding"][mots[..., début:]] + params["position"][début:mots.shape[-1]]
        début = mots.shape[-1]
        y, état = attend_with_cache(x, état, params["w_q"], params["w_k"], params["w_v"])
        mot = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        mots = np.concatenate((mots, mot[..., None]), axis=-1)
    return mots
