from abc import ABC, abstractmethod
import numpy as np
from exercises.step06_loss import Likelihood, MeanNll


class Rule(ABC):
    low, high = 0.0, 1.0

    def applies(self, chosen, replace):
        return chosen & (replace >= self.low) & (replace < self.high)

    @abstractmethod
    def ids(self, tokens):
        ...


class Hide(Rule):
    high = 0.8

    def __init__(self, mask_id):
        self.mask_id = mask_id

    def ids(self, tokens):
        return np.full(tokens.shape, self.mask_id)


class Swap(Rule):
    low, high = 0.8, 0.9

    def __init__(self, random_ids):
        self.random_ids = random_ids

    def ids(self, tokens):
        return self.random_ids


class Keep(Rule):
    low = 0.9

    def ids(self, tokens):
        return tokens


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    corrupted = tokens
    for rule in (Hide(mask_id), Swap(random_ids), Keep()):
        corrupted = np.where(rule.applies(chosen, replace), rule.ids(tokens), corrupted)
    return corrupted, np.where(chosen, tokens, -100)


masked_lm_loss = Likelihood(MeanNll(), ignore_id=-100)
