import numpy as np


def linear(x, weight, bias=None):
    """The affine map: every feature vector of x is multiplied by the weight matrix."""
    assert x.ndim >= 1, "x needs a feature axis"
    assert weight.ndim == 2, "weight is (d_in, d_out)"
    number_of_inputs, number_of_outputs = weight.shape
    assert x.shape[-1] == number_of_inputs, "features of x must match the rows of weight"
    result = np.matmul(x, weight)
    if bias is not None:
        assert bias.shape == (number_of_outputs,)
        result = result + bias
    assert result.shape == x.shape[:-1] + (number_of_outputs,)
    return result


def project_qkv(x, w_q, w_k, w_v):
    queries = linear(x, w_q)
    keys = linear(x, w_k)
    values = linear(x, w_v)
    assert queries.shape == keys.shape
    return queries, keys, values
