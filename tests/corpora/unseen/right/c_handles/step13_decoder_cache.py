"""Keys and values in an SQLite database in memory, one row for each token and layer."""
import sqlite3
import numpy as np
from exercises.step08_generation import sample_token

def new_decoder_cache(n_layers):
    db = sqlite3.connect(":memory:")
    db.execute("create table kv (layer int, pos int, k blob, v blob)")
    return db

def ln(x, p):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]

def one(tokens, db, params, n_heads, t):
    x = np.asarray(params["embedding"][tokens] + params["position"][t], dtype=np.float64)
    d = x.shape[-1] // n_heads
    for i, b in enumerate(params["blocks"]):
        a, h = b["attention"], ln(x, b["ln_1"])
        q, k, v = (h @ a["w_" + c] + a["b_" + c] for c in "qkv")
        db.execute("insert into kv values (?, ?, ?, ?)", (i, t, np.ascontiguousarray(k).tobytes(), np.ascontiguousarray(v).tobytes()))
        rows = db.execute("select k, v from kv where layer = ? order by pos", (i,)).fetchall()
        K, V = (np.stack([np.frombuffer(r[j]).reshape(x.shape) for r in rows]) for j in (0, 1))
        split = lambda z: z.reshape(z.shape[:-1] + (n_heads, d))
        s = (split(q) * split(K)).sum(-1) / np.sqrt(d)
        w = np.exp(s - s.max(0))
        y = ((w / w.sum(0))[..., None] * split(V)).sum(0).reshape(x.shape)
        x = x + y @ a["w_o"] + a["b_o"]
        f = b["feed_forward"]
        z = ln(x, b["ln_2"]) @ f["w_in"] + f["b_in"]
        x = x + (0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z ** 3)))) @ f["w_out"] + f["b_out"]
    return ln(x, params["ln_f"]) @ params["embedding"].T

def decoder_step(tokens_new, cache, params, n_heads):
    (start,) = cache.execute("select count(distinct pos) from kv").fetchone()
    if start + tokens_new.shape[-1] > len(params["position"]):
        raise ValueError("tokens_new")
    return np.stack([one(tokens_new[..., j], cache, params, n_heads, start + j) for j in range(tokens_new.shape[-1])], -2), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None:
        raise ValueError("u")
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    text = np.empty(prompt.shape[:-1] + (prompt.shape[-1] + n_new,), dtype=np.int64)
    text[..., :prompt.shape[-1]] = prompt
    cache, new = new_decoder_cache(0), prompt
    for i in range(n_new):
        logits, cache = decoder_step(new, cache, params, n_heads)
        at = prompt.shape[-1] + i
        text[..., at] = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        new = text[..., at:at + 1]
    return text
