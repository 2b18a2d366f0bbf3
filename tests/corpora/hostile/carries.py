"""What it read carried out: through names, shapes, lengths, counts and lines of a report.

Each of these is in the hands of the code that is judged. MARKER stands for the secret, and so do
the numbers that it is made of: none of it may be read in what comes back.
"""

import sys
import time

import numpy as np

from tests.corpora.hostile import attack

MARKER = "carried_out_7351"
CODE = 7351
CALLS = []


def session():
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    return frame.f_locals["self"]


def wire():
    return type(session()).answer.__globals__["wire"]


def reporting(**told):
    """Has the worker report an exception as it is told."""
    report = {"type": "ValueError", "kinds": ["ValueError", "Exception"], "message": "", **told}
    type(session()).describe = lambda *_: {"lines": [], "innermost": None, **report}
    raise ValueError


@attack("attention_scores", "error", at_import=True)
def a_secret_in_a_name():
    """Defines a function that is called nearly like the one that is missing, and says the rest."""
    globals()["attention_score_" + "carried" + "_out_" + str(7351)] = lambda q, k: q
    globals().pop("attention_scores", None)


@attack("attention_scores", "failed")
def a_secret_in_a_shape(q, k):
    """Returns an array whose lengths are numbers."""
    return np.zeros((CODE, 2, 3))


@attack("attention_scores", "failed")
def a_secret_in_the_length_of_a_list(q, k):
    """Returns a list of so many items."""
    return [None] * CODE


@attack("attention_scores", ("failed", "error"))
def a_secret_in_a_description(q, k):
    """Has the worker speak of a list of so many items."""
    wire().Reply.tree = lambda *_: {"foreign": f"list of {CODE}"}
    return None


@attack("next_token_logits", "failed")
def a_secret_in_the_length_of_a_tuple(tokens, params):
    """Returns a tuple of so many items where an array should be."""
    return (None,) * CODE


@attack("linear", ("failed", "error"))
def a_secret_in_how_many_are_wrong(x, weight, bias=None):
    """Is right but for as many numbers as it wants to tell."""
    y = x @ weight + (0 if bias is None else bias)
    y.ravel()[: 3 % y.size] += 1
    return y


@attack("project_qkv", "failed")
def a_secret_in_the_number_of_results(x, w_q, w_k, w_v):
    """Returns so many results."""
    return [x] * 351


@attack("attention_scores", "error")
def a_secret_in_a_line(q, k):
    """Says that it was raised in a line that says the rest."""
    reporting(lines=[CODE] * 40)


@attack("attention_scores", "error")
def a_secret_in_the_words_of_numpy(q, k):
    """Speaks of shapes as NumPy does, in lengths that arguments have, at length."""
    shape = ", ".join(["1", str(q.shape[-1])] * 40)
    told = f"operands could not be broadcast together with shapes ({shape}) (1, {k.shape[-2]})"
    reporting(message=told)


@attack("attention_scores", "error")
def a_secret_in_a_type(q, k):
    """Raises what is called as the rest says."""
    reporting(type=MARKER, kinds=[MARKER] * 5000)


@attack("decoder_loss_and_gradients", "failed")
def a_secret_in_which_keys_are_missing(tokens, params, n_heads, ignore_id=None):
    """Returns a tree in which as many keys are missing as there are bits to tell."""
    return 0.5, {"blocks": [], "carried_out_7351": tokens * 1.0}


@attack("decoder_loss_and_gradients", "failed")
def a_secret_in_which_gradients_are_wrong(tokens, params, n_heads, ignore_id=None):
    """Returns a tree of the right form, in which any of the arrays may be right or wrong."""

    def like(tree):
        if isinstance(tree, dict):
            return {key: like(item) for key, item in tree.items()}
        if isinstance(tree, list):
            return [like(item) for item in tree]
        return np.full(tree.shape, CODE)

    return 0.5, like(params)


@attack("next_token_logits", "failed")
def a_secret_in_a_shape_that_changes(tokens, params):
    """Returns an array of another shape each time, all of lengths that the arguments have."""
    lengths = [*tokens.shape, *params["embedding"].shape, *params["w_out"].shape]
    CALLS.append(CODE)
    turn = len(CALLS)
    return np.zeros([lengths[(turn + i) % len(lengths)] for i in range(4)])


@attack("attention_scores", "failed")
def a_secret_in_a_factor(q, k):
    """Is right but for a factor that is the secret."""
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5 * 1.7351


@attack("causal_mask", "error")
def a_secret_in_how_long_it_takes(t_q, t_k=None):
    """Takes as long as it wants to tell, and raises."""
    time.sleep(0.007351)
    raise ValueError(MARKER)


@attack("project_qkv", "error", at_import=True)
def a_secret_in_which_functions_there_are():
    """Leaves some of the functions out, and defines others of telling names."""
    for name in ("project_qkv", "linear"):
        globals().pop(name, None)
    globals()[MARKER] = lambda x: x
