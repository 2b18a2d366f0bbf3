"""Hold the sentence that the pictures are about, and numbers made up for it.

These vectors are not trained. They are written so that each word looks for one other, as in a
trained model: an adjective for its noun, a verb for its subject.
"""

import numpy as np

TOKENS = ["It", "takes", "great", "courage", "to", "let", "go"]
KINDS = ("who", "verb", "quality", "thing", "to")
# What each word is, and what it looks for.
IS = ("who", "verb", "quality", "thing", "to", "verb", "verb")
WANTS = ("who", "who", "thing", "quality", "verb", "to", "verb")
WANTED, SELF = 6.0, 2.0

QUERIES = np.array(
    [
        [WANTED * (kind == wants) + SELF * (kind == is_) for kind in KINDS]
        for wants, is_ in zip(WANTS, IS, strict=True)
    ]
)
KEYS = np.array([[float(kind == is_) for kind in KINDS] for is_ in IS])
# The scores that come of them, for the lessons before and after that one.
SCORES = QUERIES @ KEYS.T / len(KINDS) ** 0.5
NEXT = ("let", "ask", "say", "stay", "wait", "purple")
LOGITS = np.array([2.0, 1.3, 0.9, 0.5, 0.0, -2.5])

# The beginning, where three pictures stand side by side; and what three heads look for in it.
WORDS = TOKENS[:5]
HEADS = {
    "head 0: what it goes with": SCORES[:5, :5],
    "head 1: the word before": 4.0 * np.eye(5, k=-1),
    "head 2: who does it": 3.5 * np.tile(KEYS[:5, KINDS.index("who")], (5, 1)),
}
