"""Generation: a new token depends on all tokens before it, and on the values of u drawn so far."""

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, own, past
from grader.steps.inputs import Draw

T, NEW, V = 3, 4, 1000  # with so many tokens, the same one is hardly ever drawn twice by chance
_draw = Draw("maps", "generation", decimals=2)
_PARAMS = {
    "embedding": _draw.normal(V, 6),
    "position": _draw.normal(T + NEW + 1, 6),
    "w_q": _draw.normal(6, 3) / 4,
    "w_k": _draw.normal(6, 3) / 4,
    "w_v": _draw.normal(6, 6),
    # A feature favours high ids or low ones: whatever the text, many tokens have a chance, and the
    # least change of it moves the one that is drawn.
    "w_out": _draw.normal(6, 1) * np.linspace(-1, 1, V),
}
_PROMPT = np.asarray([4, 310, 717])
_U = np.asarray([0.31, 0.62, 0.47, 0.55])
_TEXT = {"prompt": _PROMPT, "n_new": NEW, "params": _PARAMS, "temperature": 1.0, "u": _U}
_OTHERS = {"prompt": (_PROMPT + 123) % V, "u": (_U + 0.4) % 1}
BECAME = "A token that became another one counts as moved by 1."

_PROMPT_SEEN = np.vstack([own(T), np.full((NEW, T), True)])
_U_SEEN = np.vstack([np.full((T, NEW), False), past(NEW)])

MAPS = {
    "generate": [
        Moves(Nudge(_TEXT, _OTHERS, {"u": -1}), _U_SEEN, -1, input="u", how=BECAME),
        Moves(Nudge(_TEXT, _OTHERS, {"prompt": -1}), _PROMPT_SEEN, -1, how=BECAME),
    ],
}
