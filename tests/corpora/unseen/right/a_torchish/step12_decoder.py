from exercises import torchlike as torch
from exercises.step09_heads import multi_head_attention
from exercises.step11_block import feed_forward, layer_norm


def ln(x, p):
    return layer_norm(x, p["gain"], p["bias"])


def block(x, p, n_heads, mask=None, past=None):
    x = x + multi_head_attention(ln(x, p["ln_1"]), p["attention"], n_heads, mask, is_causal=True, past=past)
    return x + feed_forward(ln(x, p["ln_2"]), p["feed_forward"])


def forward(idx, params, n_heads, mask=None, pasts=None, start=0):
    T = torch.size(idx, -1)
    if start + T > torch.size(params["position"], 0):
        raise ValueError("Cannot forward, model block size is exhausted")
    x = torch.F.embedding(idx, params["embedding"]) + params["position"][start:start + T]
    for i, p in enumerate(params["blocks"]):
        x = block(x, p, n_heads, mask, None if pasts is None else pasts[i])
    return torch.F.linear(ln(x, params["ln_f"]), params["embedding"])


def decoder_logits(tokens, params, n_heads, padding=None):
    return forward(tokens, params, n_heads, padding)
