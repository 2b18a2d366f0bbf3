"""Hold a sentence and its translation, and which word each of the other's words looks for.

These numbers are not trained, either. German puts "gelesen" (read) at the end.
"""

from __future__ import annotations

import numpy as np

SOURCE = ["Ich", "habe", "das", "Buch", "gestern", "gelesen"]
TARGET = ["I", "read", "the", "book", "yesterday"]
LOOKS_FOR = {
    "I": {"Ich": 4.0},
    "read": {"habe": 3.0, "gelesen": 4.0},
    "the": {"das": 4.0, "Buch": 2.0},
    "book": {"das": 1.5, "Buch": 4.0},
    "yesterday": {"gestern": 4.0},
}
SCORES = np.array([[LOOKS_FOR[word].get(one, 0.0) for one in SOURCE] for word in TARGET])
