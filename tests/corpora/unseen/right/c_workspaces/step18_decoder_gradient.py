"""Everything in one file, two passes written flat; the workspaces are kept from call to call, results are copies."""
import numpy as np
_space = {}

def _buffer(name, shape):
    """A buffer of the module: what is in it is old."""
    if _space.get(name) is None or _space[name].shape != shape:
        _space[name] = np.empty(shape)
    return _space[name]

C = np.sqrt(2 / np.pi)

def _norm(x, p):
    mu = x.mean(-1, keepdims=True)
    r = 1 / np.sqrt(((x - mu) ** 2).mean(-1, keepdims=True) + 1e-5)
    hat = (x - mu) * r
    return hat * p["gain"] + p["bias"], hat, r

def _norm_back(d, hat, r, p, g):
    g["gain"], g["bias"] = (d * hat).sum((0, 1)), d.sum((0, 1))
    d = d * p["gain"]
    return r * (d - d.mean(-1, keepdims=True) - hat * (d * hat).mean(-1, keepdims=True))

def _forward(tokens, params, n_heads, ignore_id):
    T = tokens.shape[-1] - 1
    if T < 1 or T > params["position"].shape[0]:
        raise ValueError("tokens: too few or too many")
    tokens = tokens.reshape(-1, T + 1)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    B, d = len(inputs), params["embedding"].shape[1]
    h = n_heads
    x = _buffer("x", (B, T, d))
    np.add(params["embedding"][inputs], params["position"][:T], out=x)
    saved = []
    hide = np.triu(np.full((T, T), -np.inf), 1)
    for p in params["blocks"]:
        a, f = p["attention"], p["feed_forward"]
        n1, hat1, r1 = _norm(x, p["ln_1"])
        q, k, v = ((n1 @ a["w_" + c] + a["b_" + c]).reshape(B, T, h, d // h).transpose(0, 2, 1, 3) for c in "qkv")
        s = q @ k.transpose(0, 1, 3, 2)
        s *= (d // h) ** -0.5
        s += hide
        s -= s.max(-1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(-1, keepdims=True)
        y = (s @ v).transpose(0, 2, 1, 3).reshape(B, T, d)
        x += y @ a["w_o"] + a["b_o"]
        n2, hat2, r2 = _norm(x, p["ln_2"])
        z = n2 @ f["w_in"] + f["b_in"]
        t = np.tanh(C * (z + 0.044715 * z ** 3))
        m = 0.5 * z * (1 + t)
        x += m @ f["w_out"] + f["b_out"]
        saved.append((n1, hat1, r1, q, k, v, s, y, n2, hat2, r2, z, t, m))
    n, hat, r = _norm(x, params["ln_f"])
    logits = n @ params["embedding"].T
    logits -= logits.max(-1, keepdims=True)
    keep = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
    if not keep.any():
        raise ValueError("tokens: all targets are ignored")
    e = np.exp(logits)
    total = e.sum(-1, keepdims=True)
    lp = np.take_along_axis(logits - np.log(total), targets[..., None].astype(np.intp), -1)[..., 0]
    return -lp[keep].sum() / keep.sum(), inputs, targets, keep, saved, (n, hat, r), e / total

def decoder_loss(tokens, params, n_heads, ignore_id=None):
    return _forward(tokens, params, n_heads, ignore_id)[0]

def decoder_loss_and_gradients(tokens, params, n_heads, ignore_id=None):
    loss, inputs, targets, keep, saved, (n, hat, r), probs = _forward(tokens, params, n_heads, ignore_id)
    B, T = inputs.shape
    E = params["embedding"]
    d, h = E.shape[1], n_heads
    dz = probs * keep[..., None] / keep.sum()
    b, t = np.nonzero(keep)
    np.subtract.at(dz, (b, t, targets[b, t]), 1 / keep.sum())
    two = lambda a: a.reshape(B * T, -1)
    grads = {"embedding": two(dz).T @ two(n), "position": np.zeros(params["position"].shape), "ln_f": {}, "blocks": [None] * len(saved)}
    dx = _norm_back(dz @ E, hat, r, params["ln_f"], grads["ln_f"])
    for i in range(len(saved) - 1, -1, -1):
        p, (n1, hat1, r1, q, k, v, s, y, n2, hat2, r2, z, th, m) = params["blocks"][i], saved[i]
        a, f = p["attention"], p["feed_forward"]
        g = {"ln_1": {}, "attention": {}, "ln_2": {}, "feed_forward": {}}
        g["feed_forward"]["w_out"], g["feed_forward"]["b_out"] = two(m).T @ two(dx), dx.sum((0, 1))
        dz = (dx @ f["w_out"].T) * (0.5 * (1 + th) + 0.5 * z * (1 - th * th) * C * (1 + 3 * 0.044715 * z * z))
        g["feed_forward"]["w_in"], g["feed_forward"]["b_in"] = two(n2).T @ two(dz), dz.sum((0, 1))
        dx = dx + _norm_back(dz @ f["w_in"].T, hat2, r2, p["ln_2"], g["ln_2"])
        g["attention"]["w_o"], g["attention"]["b_o"] = two(y).T @ two(dx), dx.sum((0, 1))
        dy = (dx @ a["w_o"].T).reshape(B, T, h, d // h).transpose(0, 2, 1, 3)
        ds = dy @ v.transpose(0, 1, 3, 2)
        ds -= (ds * s).sum(-1, keepdims=True)
        ds *= s
        ds *= (d // h) ** -0.5
        dn = np.zeros((B, T, d))
        for c, dc in (("q", ds @ k), ("k", ds.transpose(0, 1, 3, 2) @ q), ("v", s.transpose(0, 1, 3, 2) @ dy)):
            dc = dc.transpose(0, 2, 1, 3).reshape(B, T, d)
            g["attention"]["w_" + c], g["attention"]["b_" + c] = two(n1).T @ two(dc), dc.sum((0, 1))
            dn += dc @ a["w_" + c].T
        dx = dx + _norm_back(dn, hat1, r1, p["ln_1"], g["ln_1"])
        grads["blocks"][i] = g
    np.add.at(grads["embedding"], inputs, dx)
    grads["position"][:T] += dx.sum(0)
    return loss, grads
