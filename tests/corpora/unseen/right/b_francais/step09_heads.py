"""Les têtes d'attention : découper, recoller, et tout faire à la fois."""
import numpy as np

from exercises.step05_output import attention


def split_heads(x, n_heads):
    """Découpe le dernier axe en « n_heads » têtes."""
    dimension = x.shape[-1]
    if dimension % n_heads != 0:
        raise ValueError("n_heads : le modèle n'est pas divisible")
    tête = dimension // n_heads
    return np.moveaxis(x.reshape(*x.shape[:-1], n_heads, tête), -2, -3)


def merge_heads(x):
    """L'inverse, évidemment."""
    y = np.moveaxis(x, -3, -2)
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])


def multi_head_attention(x, params, n_heads, mask=None):
    """L'œuvre entière : même masque pour chaque tête."""
    requêtes, clés, valeurs = (split_heads(np.matmul(x, params["w_" + c]) + params["b_" + c], n_heads) for c in "qkv")
    if mask is not None:
        longueur = x.shape[-2]
        mask = np.expand_dims(np.broadcast_to(mask, (*x.shape[:-2], longueur, longueur)), -3)
    return np.matmul(merge_heads(attention(requêtes, clés, valeurs, mask)), params["w_o"]) + params["b_o"]
