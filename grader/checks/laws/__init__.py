"""State the laws that right code keeps, each once, and apply them to many functions.

A law takes cases and a function with named arguments: a student's, or a composition of several. It
returns nothing if the law holds, and raises `Broken` if not.
"""

# ruff: noqa: F401  (checks ask for laws by name)

from grader.checks.laws.cases import Adapted, Case, continued, keeps_all, values_are_right
from grader.checks.laws.chunks import InChunks, agrees_in_parts, are_separate
from grader.checks.laws.costs import (
    does_not_grow,
    never_holds_everything,
    new_tokens_only,
    work_is_linear,
    works_in_blocks,
)
from grader.checks.laws.gradients import (
    batch_adds_up,
    hidden_keys_get_nothing,
    is_linear_in,
    is_zero_where,
    no_gradient_from_the_future,
    no_gradient_through_padding,
)
from grader.checks.laws.leaks import (
    future_does_not_matter,
    prefix_gives_the_same,
    rows_are_independent,
)
from grader.checks.laws.modern import (
    depends_on_distance_only,
    documents_are_alone,
    merges_in_any_order,
    scores_of,
)
from grader.checks.laws.state import answers_the_same_again, leaves_arguments_alone
from grader.checks.laws.training import InSteps
from grader.checks.laws.values import (
    agrees,
    agrees_in_float32,
    is_distribution,
    probabilities_add_up,
    rejects,
    stays_right_when_large,
)
