"""Documents: a mask and its positions do not depend on later documents."""

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, past
from grader.steps.inputs import Arguments

T = 5
_CHANGE = Nudge({"documents": np.full(T, 4)}, {"documents": np.full(T, 7)}, {"documents": -1})
# The first position begins a document, whatever its number is.
_SEES = past(T) & (np.arange(T)[:, None] + np.arange(T) > 0)
_NAMED: Arguments = {
    "input": "number",
    "how": "All positions were in one document, and one at a time got a document of its own.",
}

MAPS = {
    "document_mask": [Moves(_CHANGE, _SEES, output="row of position", **_NAMED)],
    "document_positions": [Moves(_CHANGE, _SEES, axis=-1, **_NAMED)],
}
