"""Draw what the learner's own functions do, for the notebooks.

Each picture uses the functions as they are in the kernel. If one is still a stub, or cannot be
drawn, a sentence takes the place of the picture.
"""

from __future__ import annotations

from grader.notebooks.attention_looks import (
    attention_weights,
    leaks,
    masking,
    peeking,
    projections,
    scores,
    sharpness,
    spread,
    temperatures,
    times,
    weights,
)
from grader.notebooks.decoder_looks import cut, decoder_times, heads, layers, norms, translation
from grader.notebooks.gap_looks import both_sides, hidden
from grader.notebooks.gradient_looks import highway, reached, two_jobs, wishes
from grader.notebooks.modern_looks import circle, kept, learning, masks, memory, running, shared
from grader.notebooks.piece_looks import decoder_pieces, llama_pieces, pieces

__all__ = [
    "projections",
    "scores",
    "spread",
    "masking",
    "weights",
    "sharpness",
    "attention_weights",
    "leaks",
    "peeking",
    "pieces",
    "times",
    "temperatures",
    "cut",
    "heads",
    "translation",
    "norms",
    "layers",
    "decoder_pieces",
    "decoder_times",
    "hidden",
    "both_sides",
    "wishes",
    "reached",
    "highway",
    "two_jobs",
    "learning",
    "circle",
    "shared",
    "masks",
    "running",
    "memory",
    "kept",
    "llama_pieces",
]
