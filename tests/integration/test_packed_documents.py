"""Packed documents in attention: each gives what it gives alone, so none moves another."""

import numpy as np
import pytest

from grader.authoring.figures import import_solutions
from grader.steps.inputs import Draw

D_MODEL, N_HEADS, N_KV_HEADS, D_HEAD = 6, 4, 2, 4
LENGTHS = {"two": (3, 4), "one of each length": (1, 2, 3), "one": (5,), "tokens": (1, 1, 1)}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_packed_document_gives_what_it_gives_alone(lengths):
    draw = Draw("packed documents")
    wide, narrow = N_HEADS * D_HEAD, N_KV_HEADS * D_HEAD
    params = {"w_q": draw.normal(D_MODEL, wide), "w_o": draw.normal(wide, D_MODEL)}
    params |= {name: draw.normal(D_MODEL, narrow) for name in ("w_k", "w_v")}
    with import_solutions() as load:
        positions, heads = load("step20_positions"), load("step21_grouped_heads")
        masks = load("step22_more_masks")

    def attend(x, documents):
        angles = positions.rotary_angles(masks.document_positions(documents), D_HEAD)
        mask = masks.document_mask(documents)
        return heads.grouped_query_attention(x, params, N_HEADS, N_KV_HEADS, mask, angles)

    x, ends = draw.normal(sum(lengths), D_MODEL), np.cumsum(lengths)
    alone = [attend(x[end - long : end], np.zeros(long, int)) for end, long in zip(ends, lengths)]
    # The first number comes again, as that of another document.
    packed = attend(x, np.repeat(np.arange(len(lengths)) % 2, lengths))
    np.testing.assert_allclose(packed, np.concatenate(alone), atol=1e-12)
