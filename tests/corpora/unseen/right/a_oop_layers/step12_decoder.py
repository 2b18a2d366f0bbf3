from exercises.nn import Linear, Module, Norm, Sequential
from exercises.step03_mask import Causal, Given
from exercises.step11_block import Block


class Embedding(Module):
    def __init__(self, table, position):
        self.table, self.position = table, position

    @property
    def t_max(self):
        return self.position.shape[0]

    def forward(self, tokens):
        t = tokens.shape[-1]
        if t > self.t_max:
            raise ValueError("tokens")
        return self.table[tokens] + self.position[:t]


class Decoder(Module):
    def __init__(self, params, n_heads):
        self.embed = Embedding(params["embedding"], params["position"])
        self.blocks = params["blocks"]
        self.head = Sequential(Norm(**params["ln_f"]), Linear(params["embedding"].T))
        self.n_heads = n_heads

    def forward(self, tokens, padding=None):
        x = self.embed(tokens)
        mask = Causal(tokens.shape[-1])
        if padding is not None:
            mask &= Given(padding)
        mask = mask.build()
        return Sequential(*(Block(b, self.n_heads, mask) for b in self.blocks), self.head)(x)


def decoder_logits(tokens, params, n_heads, padding=None):
    return Decoder(params, n_heads)(tokens, padding)
