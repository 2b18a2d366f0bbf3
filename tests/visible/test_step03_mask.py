"""Checks of step 3: masks."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table


def lengths(draw, t_q, t_k=None):
    """Numbers of queries and keys, the second only where it is given."""
    return {"t_q": t_q} if t_k is None else {"t_q": t_q, "t_k": t_k}


def padded_texts(draw, batch, t, vocabulary, pad_id, pads):
    """Random texts, padding at the positions `pads`, one less in every next text; and token 0."""
    tokens = (pad_id + 1 + draw.tokens(vocabulary - 1, *batch, t)) % vocabulary
    for number, text in enumerate(tokens.reshape(-1, t)):
        if pad_id != 0 and t > 1:
            text[(pads[-1] + 1) % t] = 0
        text[list(pads[number % (len(pads) + 1) :])] = pad_id
    return {"tokens": tokens, "pad_id": pad_id}


def random_mask(draw, shape, share=0.5):
    """A mask in which that share is True."""
    mask = draw.uniform(*shape) < share
    if 0 < share < 1:
        mask.flat[0], mask.flat[-1] = False, True
    return {"mask": mask}


def scores_and_mask(draw, scores, mask):
    """Random scores and a mask, of these shapes."""
    return {"scores": draw.normal(*scores), **random_mask(draw, mask)}


def large_scores_and_mask(draw, scores, mask, size):
    """Whole scores up to that size; allowed ones are exactly 0, and as negative as that."""
    values = np.round((2 * draw.uniform(*scores) - 1) * size)
    values.flat[-1], values.flat[1] = 0, -size
    arguments = random_mask(draw, mask)
    arguments["mask"].flat[1] = True
    return {"scores": values, **arguments}


SQUARE = table(lengths, (3,), (1,), (4, 4), (6,), (11,), (40,))
RECTANGULAR = table(lengths, (2, 5), (1, 4), (3, 4), (4, 11))
TOO_FEW_KEYS = table(lengths, (3, 2), (5, 1), (1, 0))
PADDED = table(padded_texts, ((), 3, 9, 4, (1,)), ((), 5, 11, 7, (0, 3)), ((), 4, 6, 0, (0, 2)))
PADDED_SHAPES = [
    *table(padded_texts, ((), 1, 5, 3, ()), ((1,), 4, 7, 2, (1, 2)), ((), 11, 12, 5, (0, 4, 10))),
    *table(padded_texts, ((2,), 1, 4, 1, (0,)), ((3,), 3, 8, 6, (0, 1))),
    *table(padded_texts, ((2, 3), 5, 10, 1, (2, 3))),
]
MASKS = [{"shape": (2, 3)}, {"shape": (4, 4)}, {"shape": (3, 5)}]
MASK_SHAPES = [
    *table(random_mask, ((5,),), ((1, 1),), ((2, 1, 4),), ((3, 4), 0.0), ((4, 3), 1.0)),
    *table(random_mask, ((11, 11),), ((2, 3, 4, 5),)),
]
SCORES = table(scores_and_mask, ((2, 3), (2, 3)), ((4, 4), (4, 4)), ((3, 5), (3, 5)))
SMALLER_MASKS = [
    *table(scores_and_mask, ((1, 3), (1, 3)), ((3, 4), (4,)), ((3, 4), (3, 1))),
    *table(scores_and_mask, ((2, 3, 5), (2, 3, 5)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (2, 1, 4))),
    *table(scores_and_mask, ((3, 3, 3), (3, 3)), ((3, 3, 3), (3, 1, 3)), ((4, 11), (1, 11))),
    *table(scores_and_mask, ((2, 3, 4, 5), (4, 5)), ((2, 3, 4, 5), (2, 1, 1, 5))),
]
LARGE_SCORES = table(large_scores_and_mask, ((2, 3), (2, 3), 1e4), ((4, 5), (4, 5), 1e6))


def test_causal_agree(student, given):
    """A query may attend to its own position and to those before it, and to no other."""
    laws.agrees(student.causal_mask, given.cases(lengths, SQUARE))


def test_causal_rectangular(student, given):
    """With fewer queries than keys, the queries are the last positions."""
    laws.agrees(student.causal_mask, given.cases(lengths, RECTANGULAR))


def test_padding_agree(student, given):
    """True where the key is a real token, wherever padding stands; 0 may be a real token."""
    laws.agrees(student.padding_mask, given.cases(padded_texts, PADDED))


def test_padding_shapes(student, given):
    """Any number of batch axes, each text with its own padding, in all of it or nowhere."""
    laws.agrees(student.padding_mask, given.cases(padded_texts, PADDED_SHAPES))


def test_additive_agree(student, given):
    """0 where the mask is True, minus infinity where it is False, nothing else."""
    laws.agrees(student.additive_mask, given.cases(random_mask, MASKS))


def test_additive_shapes(student, given):
    """A mask of any shape gives numbers of the same shape, also if all of it is True or False."""
    laws.agrees(student.additive_mask, given.cases(random_mask, MASK_SHAPES))


def test_masking_agree(student, given):
    """A score stays as it is where the mask is True and is minus infinity where it is False."""
    laws.agrees(student.apply_mask, given.cases(scores_and_mask, SCORES))


def test_masking_shapes(student, given):
    """A mask with fewer axes than the scores, or axes of length 1, holds for all it spans."""
    laws.agrees(student.apply_mask, given.cases(scores_and_mask, SMALLER_MASKS))


def test_masking_large(student, given):
    """Allowed scores stay as they are if they are 0, very large or very negative."""
    cases = given.cases(large_scores_and_mask, LARGE_SCORES)
    laws.stays_right_when_large(student.apply_mask, cases)


test_padding_arguments = standard.untouched("padding_mask", padded_texts, PADDED[2:])
test_additive_repeat = standard.when_repeated("additive_mask", random_mask, MASKS)
test_additive_arguments = standard.untouched("additive_mask", random_mask, MASKS[2:])
test_masking_float32 = standard.in_float32("apply_mask", scores_and_mask, SCORES)
test_masking_repeat = standard.when_repeated("apply_mask", scores_and_mask, SCORES)
test_masking_arguments = standard.untouched("apply_mask", scores_and_mask, SCORES[2:])
test_causal_errors = standard.refused(
    "causal_mask", lengths, TOO_FEW_KEYS, "With fewer keys than queries"
)
test_causal_repeat = standard.when_repeated(
    "causal_mask",
    lengths,
    [{"t_q": 3}, {"t_q": 2, "t_k": 5}],
    also=[{"t_q": 3, "t_k": 5}, {"t_q": 2}],
)
test_padding_repeat = standard.when_repeated(
    "padding_mask",
    padded_texts,
    PADDED,
    also=[{**sizes, "pads": (sizes["t"] - 1,)} for sizes in PADDED],
)
