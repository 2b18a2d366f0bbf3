"""List the properties that a wrong result may have, each with its sentence and its hint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from grader.diagnosis.properties import places, resemblance
from grader.diagnosis.properties.case_outcomes import Fact
from grader.diagnosis.properties.factors import factor, find_added, find_copied, find_joined
from grader.diagnosis.properties.pairs import Pair, enough


@dataclass(frozen=True)
class Property:
    """A property of a pair. holds: None if the pair would have it in any case."""

    id: str
    says: str
    hint: str
    holds: Callable[[Pair], bool | None]

    def state_facts(self, found: Sequence[Pair]) -> Fact | None:
        """Return the fact if all pairs have it, and enough of them for it to mean something."""
        answers = [self.holds(pair) for pair in found]
        if any(answer is False for answer in answers):
            return None
        having = [pair for pair, answer in zip(found, answers, strict=True) if answer]
        return Fact(self.id, self.says, self.hint) if enough(having) else None


ORDER = "Write the shapes beside every line: which axes are swapped, and which should be?"
WHERE = "Take the smallest case and follow one wrong number back, line by line."
TIME = "Which positions does each line see? Count them by hand for a text of three."
SHAPE = "Print the shape after every line, for one case, and compare it with the docstring."
NORMAL = "Write down what each sum runs over, and along which axis it should."
TAKEN = "The same number is subtracted from a whole slice: where does it come from?"
DIVIDED = "The same number multiplies or divides a whole slice: where does it come from?"
FINITE = "Which operation can make it: inf - inf, 0 times inf, 0 / 0, or exp of a large number?"
RESULTS = "In which order does the docstring list the results?"
TYPES = "Which type does an array get from np.zeros, and a number from float?"
TRUTH = "What does ~ or & make of these numbers, and what of True and False?"
SIGNS = "Which side of a subtraction, or of a comparison, is which?"
FUNCTION = "Which exp or log is one too many, or missing, on the way to the result?"
CUT = "Where does each result begin and end, and how wide is each weight?"
MASKED = "What happens to a number that the mask forbids, and what to its neighbours in the row?"
ALLOWED = "What happens to a score that is allowed?"

# Those that account for the whole result, most telling first.
WHOLE: list[Callable[[Sequence[Pair]], Fact | None]] = [
    Property(
        "negated", "Every number has the wrong sign.", SIGNS, resemblance.is_negated
    ).state_facts,
    Property(
        "opposite", "Every True is a False, and every False a True.", SIGNS, resemblance.opposite
    ).state_facts,
    Property(
        "swapped_axes",
        "The numbers are right, but the last two axes are swapped.",
        ORDER,
        resemblance.is_swapped,
    ).state_facts,
    Property(
        "other_axes",
        "The numbers are right, but the axes are in another order.",
        ORDER,
        resemblance.other_axes,
    ).state_facts,
    Property(
        "reshaped",
        "The numbers are right and in order; only the shape is not.",
        SHAPE,
        resemblance.is_reshaped,
    ).state_facts,
    Property(
        "repeated",
        "It is the right result, repeated along an axis in front.",
        SHAPE,
        resemblance.is_repeated,
    ).state_facts,
    factor,
    find_added,
    find_copied,
    find_joined,
    Property(
        "exponential",
        "Every number is the exponential of the right one.",
        FUNCTION,
        resemblance.is_exponential,
    ).state_facts,
    Property(
        "logarithm", "Every number is the log of the right one.", FUNCTION, resemblance.is_log
    ).state_facts,
    *(
        Property(
            f"reversed_{axis}",
            f"It is the right result, reversed along axis {axis}.",
            TIME,
            partial(resemblance.is_flipped, axis=axis),
        ).state_facts
        for axis in (-2, -1)
    ),
    *(
        Property(
            f"shifted_{'late' if late else 'early'}_{axis}",
            f"Along axis {axis} the right numbers stand one place too "
            f"{'late' if late else 'early'}.",
            TIME,
            partial(resemblance.is_shifted, axis=axis, late=late),
        ).state_facts
        for axis in (-2, -1)
        for late in (True, False)
    ),
    *(
        Property(
            f"{'end' if end else 'beginning'}_{axis}",
            f"It is only the {'end' if end else 'beginning'} of the right result "
            f"along axis {axis}; the rest is missing.",
            SHAPE,
            partial(resemblance.part, axis=axis, end=end, more=False),
        ).state_facts
        for axis in (-1, -2)
        for end in (False, True)
    ),
    *(
        Property(
            f"more_{'before' if end else 'behind'}_{axis}",
            f"It is the right result, with more {'before' if end else 'behind'} it "
            f"along axis {axis}.",
            SHAPE,
            partial(resemblance.part, axis=axis, end=end, more=True),
        ).state_facts
        for axis in (-1, -2)
        for end in (False, True)
    ),
    Property(
        "sign",
        "The sizes of all numbers are right; some have the wrong sign.",
        SIGNS,
        resemblance.sign,
    ).state_facts,
    Property(
        "unit_rows",
        "Each row along axis -1 is the right one, divided by its own length.",
        DIVIDED,
        resemblance.unit_rows,
    ).state_facts,
    Property(
        "centred_rows",
        "Each row along axis -1 is the right one minus its own mean.",
        TAKEN,
        resemblance.centred_rows,
    ).state_facts,
    Property(
        "permuted",
        "The numbers are right, but they stand in the wrong places.",
        ORDER,
        resemblance.is_permuted,
    ).state_facts,
    Property(
        "other_sums",
        "The numbers sum to 1, but along the wrong axis.",
        NORMAL,
        resemblance.other_sums,
    ).state_facts,
    Property(
        "one_sum", "All numbers together sum to 1; each slice should.", NORMAL, resemblance.one_sum
    ).state_facts,
    *(
        Property(
            f"{'factor' if times else 'added'}_along_{axis}",
            f"In each {line}, along axis {axis}, all numbers are off by the same "
            f"{'factor' if times else 'amount'}, different for each {line}.",
            DIVIDED if times else TAKEN,
            partial(resemblance.along, axis=axis, factor=times),
        ).state_facts
        for times in (False, True)
        for axis, line in ((-1, "row"), (-2, "column"))
    ),
]

# Those that say something of all wrong results, but not everything.
PARTLY = [
    Property(
        "not_zero",
        "Every wrong number should be 0.",
        MASKED,
        resemblance.not_zero,
    ),
    Property("nan", "Every wrong number is NaN; all others are right.", FINITE, resemblance.nan),
    Property(
        "infinite",
        "Every wrong number is infinite; all others are right.",
        FINITE,
        resemblance.infinite,
    ),
    Property(
        "zero",
        "Every wrong number is 0; all others are right.",
        "Which places does your code fill, and does any loop or slice end too early?",
        resemblance.zero,
    ),
    Property(
        "one_value",
        "All wrong numbers have the same absolute value.",
        "Which line limits numbers, or puts one number in the place of others?",
        resemblance.one_value,
    ),
    Property(
        "one_hot",
        "Each row holds a single 1 and zeros, and should not.",
        "Which line chooses the largest number, where all of them should count?",
        resemblance.one_hot,
    ),
    Property(
        "other_sign",
        "Every number has the wrong sign, and another size than it should have.",
        SIGNS,
        resemblance.other_sign,
    ),
    Property(
        "symmetric",
        "The result equals its own transpose, and should not.",
        ORDER,
        resemblance.symmetric,
    ),
    Property(
        "equal_rows",
        "All rows of the result are the same, and should not be.",
        WHERE,
        resemblance.equal_rows,
    ),
]

PLACES = [
    Property(
        "zero_rows", "Only rows that should be 0 throughout are wrong.", MASKED, places.zero_rows
    ),
    Property(
        "where_blocked",
        "Only places that the mask blocks are wrong.",
        MASKED,
        partial(places.are_blocked, allowed=False),
    ),
    Property(
        "where_allowed",
        "Only places that the mask allows are wrong.",
        ALLOWED,
        partial(places.are_blocked, allowed=True),
    ),
    Property("above_diagonal", "Only numbers above the diagonal are wrong.", TIME, places.above),
    Property("below_diagonal", "Only numbers below the diagonal are wrong.", TIME, places.below),
    Property("on_diagonal", "Only the diagonal is wrong.", TIME, places.on),
    Property(
        "off_diagonal",
        "The diagonal is right; something is wrong on both sides of it.",
        TIME,
        places.off,
    ),
    *(
        Property(
            f"{'right' if right else 'wrong'}_{place}_{axis}",
            f"Along axis {axis}, only the {'first' if place == 0 else 'last'} place is "
            f"{'right in full' if right else 'wrong'}.",
            WHERE,
            partial(places.only_right if right else places.only_wrong, axis=axis, place=place),
        )
        for axis in (-2, -1, -3, -4)
        for place in (0, -1)
        for right in (True, False)
    ),
    Property(
        "new_tokens",
        "The prompt and the first new token are right; a later one is wrong.",
        "What has to change between two new tokens: position, cache, u?",
        places.later_new_tokens,
    ),
]

# Facts about rows and columns, which mean nothing where rows are texts.
OF_SQUARES = ("above_diagonal", "below_diagonal", "on_diagonal", "off_diagonal")

# Facts for results that no other fact describes.
WEAK = [
    Property(
        "shape_swapped",
        "The last two axes of the shape have changed places, and not all numbers are right.",
        ORDER,
        resemblance.shape_is_swapped,
    ),
    Property(
        "not_normalised",
        "The weights do not sum to 1 where they should.",
        NORMAL,
        resemblance.is_not_normalised,
    ),
    Property(
        "too_much",
        "Every wrong place is True and should be False.",
        SIGNS,
        partial(places.mask_says, value=1.0),
    ),
    Property(
        "too_little",
        "Every wrong place is False and should be True.",
        SIGNS,
        partial(places.mask_says, value=0.0),
    ),
    Property(
        "too_small",
        "Every wrong number is too small.",
        WHERE,
        partial(resemblance.smaller, sign=-1),
    ),
    Property(
        "too_large",
        "Every wrong number is too large.",
        WHERE,
        partial(resemblance.smaller, sign=1),
    ),
]
