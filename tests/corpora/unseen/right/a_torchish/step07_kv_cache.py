from exercises import torchlike as torch
from exercises.step05_output import attention


class DynamicCache:
    def __init__(self):
        self.key_cache = None
        self.value_cache = None

    def get_seq_length(self):
        return 0 if self.key_cache is None else torch.size(self.key_cache, -2)

    def update(self, key_states, value_states):
        if self.key_cache is None:
            self.key_cache, self.value_cache = key_states, value_states
        else:
            self.key_cache = torch.cat([self.key_cache, key_states], dim=-2)
            self.value_cache = torch.cat([self.value_cache, value_states], dim=-2)
        return self.key_cache, self.value_cache


def new_cache():
    return DynamicCache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q = torch.matmul(x_new, w_q)
    k, v = cache.update(torch.matmul(x_new, w_k), torch.matmul(x_new, w_v))
    return attention(q, k, v, is_causal=True), cache
