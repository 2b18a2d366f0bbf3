"""Draw `leakmap` and `costs` as HTML pages that need nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from grader.demos.growth import Growth, describe_growth
from grader.demos.own_maps import OwnMap
from grader.demos.stacks import Stack, describe_stack
from grader.report.html.page import template
from grader.steps.registry import Step


def _fill(name: str, **data: object) -> str:
    return template(name).render(**data).lstrip()


def stack_page(stack: Stack) -> str:
    """Return the page that shows who depends on whom, layer by layer."""
    title = f"Who depends on whom in {stack.code}"
    return _fill("picture.html", title=title, stack=stack, told=describe_stack(stack), growth=None)


def own_page(step: Step, maps: Sequence[OwnMap]) -> str:
    """Return the page that shows who depends on whom in the learner's functions of a step."""
    title = f"Who listens to whom in your step {step.number}, {step.title}"
    return _fill("own_maps.html", title=title, maps=maps)


def growth_page(growth: Growth, svg: str) -> str:
    """Return the page that shows the cost of the next token. svg: the curves."""
    title = f"What the next token costs, with the decoder in {growth.code}"
    told = describe_growth(growth)
    return _fill("picture.html", title=title, stack=None, growth=growth, svg=svg, told=told)
