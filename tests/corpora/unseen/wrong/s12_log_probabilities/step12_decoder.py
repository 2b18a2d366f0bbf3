import numpy as np

def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")

    def norm(x, p):
        c = x - x.mean(-1, keepdims=True)
        return c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]

    def heads(x):
        return np.stack(np.split(x, n_heads, axis=-1), axis=-3)

    mask = np.tril(np.ones((T, T), dtype=bool))
    if padding is not None:
        mask = mask & padding
    mask = mask[..., None, :, :]
    x = params["embedding"][tokens] + params["position"][:T]
    for block in params["blocks"]:
        a = block["attention"]
        y = norm(x, block["ln_1"])
        q, k, v = heads(y @ a["w_q"] + a["b_q"]), heads(y @ a["w_k"] + a["b_k"]), heads(y @ a["w_v"] + a["b_v"])
        s = np.where(mask, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
        m = s.max(-1, keepdims=True)
        e = np.exp(s - np.where(m == -np.inf, 0, m))
        t = e.sum(-1, keepdims=True)
        z = (e / np.where(t > 0, t, 1)) @ v
        z = np.concatenate([z[..., h, :, :] for h in range(n_heads)], axis=-1)
        x = x + z @ a["w_o"] + a["b_o"]
        f = block["feed_forward"]
        h = norm(x, block["ln_2"]) @ f["w_in"] + f["b_in"]
        h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h ** 3)))
        x = x + h @ f["w_out"] + f["b_out"]
    z = norm(x, params["ln_f"]) @ params["embedding"].T
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))
