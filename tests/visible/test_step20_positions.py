"""Checks of step 20: rotary positions and ALiBi."""

from functools import partial

import numpy as np

from grader.checks import laws
from grader.checks.tolerances import FAR_TURNS
from tests.visible import standard
from tests.visible.sizes import table

FAR = 1_000_000


def some_positions(
    draw, batch, length, half, base=None, far=None, dtype="int64", more=0, scattered=False
):
    """Positions that rise, from a random one on, or scattered ones; near `far` if it is given."""
    first = draw.whole(0, 9) if far is None else far - length
    positions = np.broadcast_to(first + np.arange(length), (*batch, length)).astype(dtype)
    if scattered:
        positions = draw.tokens(20, *batch, length)
    arguments = {"positions": positions.copy(), "d_head": 2 * half + more}
    return arguments if base is None else {**arguments, "base": base}


def speeds(half):
    """The speeds of the pairs, for inputs."""
    return 10000.0 ** (-np.arange(half) / half)


def turned(draw, batch, length, half, angled=(), one=False, flat=False, far=None, size=1.0):
    """Random features, and random angles of up to a few turns, or of about `far` radians."""
    angles = draw.normal(*angled, 1 if one else length, half) * 3
    if far is not None:
        angles = angles + far
    if flat:
        angles = angles[0]
    return {"x": draw.normal(*batch, length, 2 * half) * size, "angles": angles}


def placed(draw, batch, length, half, shift):
    """Features, the angles of their positions, and those of positions `shift` further on."""
    positions = np.arange(length)[:, None]
    return {"x": draw.normal(*batch, length, 2 * half), "angles": positions * speeds(half)}


def heads(draw, power):
    """A power of two."""
    return {"n_heads": 2**power}


def no_power_of_two(draw, low=0, power=None):
    """A number of heads that is too low, or three times a power of two."""
    return {"n_heads": low if power is None else 3 * 2**power}


def rectangle(draw, power, t_q, t_k=None):
    """Heads, queries, and keys where their number is given."""
    arguments = {"n_heads": 2**power, "t_q": t_q}
    return arguments if t_k is None else {**arguments, "t_k": t_k}


def uneven_rectangle(draw, **sizes):
    """A bias for a number of heads that is not a power of two."""
    return {**no_power_of_two(draw, **sizes), "t_q": 2}


# half: d_head // 2, so that enlarged sizes stay even.
ANGLES = table(some_positions, ((), 3, 2), ((), 5, 3), ((3,), 5, 2, {"scattered": True}))
BASES = table(some_positions, ((), 3, 2, 100.0), ((), 4, 3, 500000.0), ((), 2, 2, 2))
ANGLE_SHAPES = table(
    some_positions, ((), 1, 1), ((1,), 2, 1), ((2,), 3, 3), ((2, 3), 4, 5, {"dtype": "int32"})
)
FAR_POSITIONS = [
    *table(some_positions, ((), 3, 2, {"far": 70_000}), ((), 5, 4, {"far": FAR})),
    *table(some_positions, ((2,), 4, 16, {"far": FAR, "dtype": "int32"})),
]
ODD = table(some_positions, ((), 2, 0), ((2,), 3, 2), more=1)

TURNS = table(turned, ((), 2, 1), ((), 3, 2), ((), 5, 3))
# angled: the axes that the angles have in front of time; 1 where they are to be stretched.
# flat: they have no axis but that of pairs.
TURN_SHAPES = [
    *table(turned, ((), 1, 1), ((2,), 3, 2), ((2, 3), 4, 2), ((2, 3), 4, 3, (2, 1))),
    *table(turned, ((3,), 3, 3, (3,)), ((4, 2), 5, 1, (2,)), ((2,), 4, 2, {"one": True})),
    *table(turned, ((2,), 4, 3, {"flat": True})),
]
TIMED = [{"batch": (), "length": 4, "half": 2}, {"batch": (2,), "length": 5, "half": 3}]
TURN_FAR = table(turned, ((), 3, 2), ((2,), 4, 3), far=FAR)
TURN_LARGE = table(turned, ((), 3, 2, {"size": 1e3}), ((2,), 4, 3, {"size": 1e6}))
DISTANCE = table(placed, ((), 3, 1, 1), ((), 4, 3, 70), ((2,), 5, 2, 12_345))

# power: n_heads is 2 ** power.
SLOPES = [{"power": 1}, {"power": 0}, {"power": 3}, {"power": 4}]
NO_POWERS = [{"low": 0}, {"low": -4}, {"power": 0}, {"power": 2}, {"power": 1}]
BIASES = [{"power": 1, "t_q": 3}, {"power": 2, "t_q": 4}, {"power": 0, "t_q": 1}]
RECTANGLES = table(rectangle, (1, 2, 5), (2, 1, 4), (0, 3, 3), (3, 4, 11))
TOO_FEW_KEYS = [{"power": 1, "t_q": 3, "t_k": 2}, {"power": 0, "t_q": 2, "t_k": 0}]


def test_angles_agree(student, given):
    """Each angle is the position times the speed of its pair, base^(-2i/d_head)."""
    laws.agrees(student.rotary_angles, given.cases(some_positions, ANGLES))


def test_angles_base(student, given):
    """Another base gives other speeds."""
    laws.agrees(student.rotary_angles, given.cases(some_positions, BASES))


def test_angles_far(student, given):
    """Angles are right to float64 for positions of up to a million."""
    laws.agrees(student.rotary_angles, given.cases(some_positions, FAR_POSITIONS))


def test_angles_shapes(student, given):
    """Any number of batch axes, one position, one pair, and int32 positions."""
    laws.agrees(student.rotary_angles, given.cases(some_positions, ANGLE_SHAPES))


def test_rotate_agree(student, given):
    """Features i and i + d_head/2 are a pair, which is turned by the i-th angle."""
    laws.agrees(student.rotate, given.cases(turned, TURNS))


def test_rotate_distance(student, given):
    """The score of a turned query and a turned key depends on their distance only."""
    law = partial(laws.depends_on_distance_only, student.rotate, seen=laws.scores_of)
    cases = given.cases(placed, DISTANCE)
    turns = [case.sizes["shift"] * speeds(case.arguments["angles"].shape[-1]) for case in cases]
    laws.keeps_all(*(partial(law, [case], by=by) for case, by in zip(cases, turns, strict=True)))


def test_rotate_shapes(student, given):
    """Batch and head axes that the angles have, or have not, and one angle for all positions."""
    laws.agrees(student.rotate, given.cases(turned, TURN_SHAPES))


def test_rotate_far(student, given):
    """Angles of a million radians are not rounded."""
    laws.agrees(student.rotate, given.cases(turned, TURN_FAR), tolerance=FAR_TURNS)


def test_slopes_agree(student, given):
    """Head h has the slope 2^(-8(h+1)/n_heads)."""
    laws.agrees(student.alibi_slopes, given.cases(heads, SLOPES))


def test_alibi_agree(student, given):
    """The bias is minus the head's slope times the distance, in both directions of time."""
    laws.agrees(student.alibi_bias, given.cases(rectangle, BIASES))


def test_alibi_rectangular(student, given):
    """The queries are the last t_q of t_k positions."""
    laws.agrees(student.alibi_bias, given.cases(rectangle, RECTANGLES))


def test_alibi_errors(student, given):
    """Fewer keys than queries, or a number of heads without slopes, is a ValueError."""
    laws.rejects(student.alibi_bias, given.cases(rectangle, TOO_FEW_KEYS), "t_k is less than t_q")
    uneven = given.cases(uneven_rectangle, NO_POWERS)
    laws.rejects(student.alibi_bias, uneven, "n_heads is not a power of two")


test_angles_repeat = standard.when_repeated("rotary_angles", some_positions, ANGLES)
test_angles_arguments = standard.untouched("rotary_angles", some_positions, ANGLE_SHAPES[2:])
test_rotate_large = standard.when_large("rotate", turned, TURN_LARGE)
test_rotate_float32 = standard.in_float32("rotate", turned, TURNS)
test_rotate_repeat = standard.when_repeated("rotate", turned, TIMED)
test_rotate_arguments = standard.untouched("rotate", turned, TIMED)
test_angles_errors = standard.refused("rotary_angles", some_positions, ODD, "d_head is odd")
test_slopes_errors = standard.refused(
    "alibi_slopes", no_power_of_two, NO_POWERS, "n_heads is not a power of two"
)
test_rotate_no_future = standard.no_future("rotate", turned, TIMED, along={"x": -2, "angles": -2})
test_alibi_repeat = standard.when_repeated(
    "alibi_bias", rectangle, RECTANGLES[:2], also=[{**sizes, "t_q": 1} for sizes in RECTANGLES[:2]]
)
