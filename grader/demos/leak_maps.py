"""Draw maps of a submission's functions: which output moves when one input position changes.

Of a step they are the step's own functions, on the submission's own earlier steps. Or they are the
layers of a stack of decoder blocks, one of which has no mask. Nothing is judged here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.checks.compare import Broken
from grader.checks.influence_inputs import mapped, maps_of
from grader.checks.laws.influence import Moves, Nudge
from grader.checks.student import Student
from grader.demos.stacks import Stack, describe_stack, map_layers
from grader.demos.submission_worker import NotReady, program_of, step_of, worker_with
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import Program
from grader.report.html.page import template
from grader.report.influences import findings, kind
from grader.report.records import Influence
from grader.report.text.influence_map import MAP_SIGNS, MAP_WORDS, draw_map
from grader.report.text.sheet import Sheet, clean
from grader.steps.inputs import Draw, block_params
from grader.steps.registry import Registry, Step

FIRST = 5  # the first step whose functions see several positions and must not see all of them
BLOCK = "decoder_block"
N_HEADS, D_MODEL, D_FF = 2, 8, 16
LABEL, GAP = 12, "   "
FINE = "No position sees what it must not, and each sees what it should."


@dataclass(frozen=True)
class OwnMap:
    """The map of one function. says: why there is none, or that it shows no fault, or ""."""

    function: str
    map: Influence | None
    says: str


def draw_own(sheet: Sheet, one: OwnMap) -> None:
    """Draw the map of one function, if there is one, and what it shows."""
    if one.map is not None:
        draw_map(sheet, one.map)
    if one.says:
        sheet.line(clean(one.says), indent=5)


def list_mapped(registry: Registry) -> list[Step]:
    """Return the steps that have functions to be drawn."""
    return [step for step in registry.steps if step.number >= FIRST and maps_of(step)]


def measure_own(host: Host, registry: Registry, submission: Submission, step: Step) -> list[OwnMap]:
    """Return a map of each function of the step. Raise NotReady if the step cannot be loaded."""
    program = program_of(registry, submission, [step])
    return [_draw(host, program, step, name, maps) for name, maps in maps_of(step).items()]


def _draw(host: Host, program: Program, step: Step, name: str, maps: Sequence[Moves]) -> OwnMap:
    """Return the function's most telling map: one with a finding, else one that hides something."""
    drawn: list[Influence] = []
    why = ""
    try:
        with worker_with(host, program, name) as worker:
            function = mapped(Student(step, worker.call, worker.fetch), name)
            for one in maps:
                drawn.append(one.draw(function))
    except NotReady as error:
        why = str(error)
    except Broken as broken:
        why = f"It cannot be drawn. {broken.told}"
    if not drawn:
        return OwnMap(name, None, why)
    found = [one for one in drawn if findings(one)]
    masked = [one for one in drawn if not all(map(all, one.allowed))]
    return OwnMap(name, (found + masked + drawn)[0], "" if found else FINE)


def measure_stack(
    host: Host,
    registry: Registry,
    submission: Submission,
    tokens: Sequence[str],
    layers: int,
    unmasked: int | None,
) -> Stack:
    """Return the stack of that many layers on those tokens. Raise NotReady if it cannot be run."""
    step = step_of(registry, BLOCK)
    program = program_of(registry, submission, [step])
    text, others = Draw("leakmap", len(tokens)).normal(2, len(tokens), D_MODEL)
    change = Nudge({"x": text}, {"x": others}, {"x": -2})
    params = [block_params(Draw("leakmap", "layer", n), D_MODEL, D_FF) for n in range(layers)]
    with worker_with(host, program, BLOCK) as worker:
        block = getattr(Student(step, worker.call, worker.fetch), BLOCK)
        try:
            maps = map_layers(block, params, N_HEADS, unmasked, change)
        except Broken as broken:
            raise NotReady(f"{BLOCK} cannot be drawn. {broken.told}") from None
    return Stack(submission.id, tuple(tokens), unmasked, maps)


def draw_stack(sheet: Sheet, stack: Stack) -> None:
    """Draw the maps of all layers side by side, the signs and the conclusion."""
    sheet.line(f"Who depends on whom in {clean(stack.code)}", "bold")
    sheet.line("Column: the token that was replaced. Row: the position that moved.")
    names = [f"{i:>2} {clean(token)[:LABEL]}" for i, token in enumerate(stack.tokens)]
    left = _column(["", "", *names])
    blocks = [_draw_layer(stack, number) for number in range(len(stack.layers))]
    beside = max(1, (sheet.width - len(left[0])) // (len(blocks[0][0]) + len(GAP)))
    for first in range(0, len(blocks), beside):
        sheet.gap()
        for row in zip(left, *blocks[first : first + beside], strict=True):
            sheet.row(GAP.join(row).rstrip())
    sheet.gap()
    signs = "".join("".join(row) for block in blocks for row in block[2:])
    shown = (
        f"{MAP_SIGNS[mark]} {said}" for mark, said in MAP_WORDS.items() if MAP_SIGNS[mark] in signs
    )
    sheet.line(GAP.join(shown), "dim")
    for sentence in describe_stack(stack):
        sheet.gap()
        sheet.line(sentence)


def _draw_layer(stack: Stack, number: int) -> list[str]:
    """Return the rows of a layer's map: its heading, the columns, and the signs."""
    size = range(len(stack.tokens))
    signs = [[MAP_SIGNS[kind(stack.layers[number], i, j)] for j in size] for i in size]
    columns = [str(j % 10) for j in size]  # their last digits
    return _column([stack.heading(number), *map(" ".join, [columns, *signs])])


def _column(rows: Sequence[str]) -> list[str]:
    """Return the rows, all as long as the longest."""
    width = max(map(len, rows))
    return [row.ljust(width) for row in rows]


def stack_page(stack: Stack) -> str:
    """Return the page that shows who depends on whom, layer by layer."""
    data = {"title": f"Who depends on whom in {stack.code}", "told": describe_stack(stack)}
    return template("picture.html").render(data, stack=stack).lstrip()
