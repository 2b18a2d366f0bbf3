"""`leakmap`: who depends on whom in a stack of blocks, measured on the code that is named."""

import re
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from grader.cli.main import cli
from grader.demos.leak_maps import draw_stack, measure_stack, stack_page
from grader.demos.stacks import Stack, describe_stack
from grader.demos.submission_worker import NotReady
from grader.intake.submission import Submission
from grader.report.records import Influence
from grader.report.text.sheet import Sheet
from tests.conftest import ROOT
from tests.unit.report.test_page import Tree

WORDS = ("It", "takes", "great", "courage")
PAST = np.tri(len(WORDS), dtype=bool)
ALL = np.ones_like(PAST)


@pytest.fixture
def measured(host, steps, right):
    """measured(ending, ...): the stack of the solutions' blocks, with code added to step 11."""

    def measured(ending="", layers=3, unmasked=1):
        sources = {**right.sources, "step11_block": right.sources["step11_block"] + ending}
        return measure_stack(host, steps, Submission("mine/", sources), WORDS, layers, unmasked)

    return measured


def stack(*layers, unmasked=None):
    """A stack with the given maps of what moved."""
    maps = (tuple(tuple(map(float, row)) for row in layer) for layer in layers)
    influences = (Influence(one, True, (), "position", "token") for one in maps)
    return Stack("mine/", WORDS, unmasked, tuple(influences))


ALONE = "Layer 1 alone has no mask. Below it nobody sees the future. "
EVERY = "every position depends on every token"
WITH_MASK = """
block = decoder_block
def decoder_block(x, params, n_heads, mask):
    return block(x, params, n_heads, {})
"""
TOLD = {
    "masked": ("", 3, None, [PAST] * 3, "All 3 layers are masked: every position", ""),
    "one open": (
        *("", 4, 1, [PAST, ALL, ALL, ALL]),
        *(f"{ALONE}From it on {EVERY}, although layers 2 to 3 are masked.", ""),
    ),
    "last open": ("", 2, 1, [PAST, ALL], f"{ALONE}In its output {EVERY}.", ""),
    "first open": ("", 2, 0, [ALL, ALL], "Layer 0 alone has no mask. From it on ", ""),
    "mask ignored": (
        *(WITH_MASK.format("None"), 3, None, [ALL] * 3),
        "Layer 0 was given the causal mask, and yet something of the future",
        "The block does not keep to its mask.",
    ),
    "mask of its own": (
        *(WITH_MASK.format("np.tri(x.shape[-2], dtype=bool)"), 3, 1, [PAST] * 3),
        *("", "Does the block bring a mask of its own?"),
    ),
}


@pytest.mark.parametrize(
    ("ending", "layers", "unmasked", "maps", "begin", "end"), TOLD.values(), ids=TOLD
)
def test_stack_is_measured_and_described(measured, ending, layers, unmasked, maps, begin, end):
    found = measured(ending, layers, unmasked)
    for layer, wanted in zip(found.layers, maps, strict=True):
        np.testing.assert_array_equal(np.asarray(layer.moved) > 0, wanted)
    told, *_ = describe_stack(found)
    assert told.startswith(begin)
    assert told.endswith(end)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("raise NotImplementedError()", "cannot run yet: line {} is still to be written."),
        ("return None", "cannot be drawn. The result has no such time axis."),
        ("return x @ np.ones((3, 3))", "raised ValueError in line {}. In a matrix"),
    ],
)
def test_block_that_cannot_be_drawn_is_refused(measured, body, why):
    line = r"\d+ of exercises/step11_block\.py"
    with pytest.raises(NotReady, match=re.escape(why).replace(r"\{\}", line)):
        measured(f"\ndef decoder_block(x, params, n_heads, mask):\n    {body}\n")


def test_past_that_is_not_felt_is_told():
    (told,) = describe_stack(stack(np.eye(len(WORDS), dtype=bool)))
    assert told == "A token of the past that should be felt is not: see the maps."


def test_part_of_the_future_is_not_called_every_token():
    some = ALL.copy()
    some[0, 3] = False
    assert "positions depend on later tokens" in describe_stack(stack(PAST, some, unmasked=1))[0]


def test_terminal_shows_the_maps_side_by_side():
    sheet = Sheet()
    draw_stack(sheet, stack(PAST, ALL, unmasked=1))
    assert [text for text, _ in sheet.rows][3:9] == [
        "             layer 0, masked   layer 1, NO MASK",
        "             0 1 2 3           0 1 2 3",
        " 0 It        # . . .           # ! ! !",
        " 1 takes     # # . .           # # ! !",
        " 2 great     # # # .           # # # !",
        " 3 courage   # # # #           # # # #",
    ]


def test_terminal_is_never_wider_than_the_screen():
    tokens = tuple("abcdefghijk") + ("\x1b[2Jverylongwordindeed",)
    layers = stack(*[np.tri(len(tokens))] * 5).layers
    sheet = Sheet(plain=True)
    draw_stack(sheet, Stack("mine/", tokens, None, layers))
    assert max(len(text) for text, _ in sheet.rows) < 80
    assert all(text.isascii() and text.isprintable() for text, _ in sheet.rows)


def test_page_is_whole_and_escapes_the_tokens():
    maps = stack(PAST, ALL, unmasked=1).layers
    html = stack_page(Stack("<b>", ("<script>x</script>", "&", '"', "d"), 1, maps))
    tree = Tree(html)
    assert [tag for tag, _ in tree.elements].count("svg") == 2
    assert "script" not in [tag for tag, _ in tree.elements]
    assert "http" not in html.replace("http-equiv", "")
    assert "<figcaption>layer 1, NO MASK</figcaption>" in html


def command(*arguments):
    """The command's exit status and what it printed, in one line."""
    done = CliRunner().invoke(cli, ["leakmap", *map(str, arguments)])
    return done.exit_code, " ".join(done.output.split())


def test_command_draws_and_writes_a_page(tmp_path):
    page = tmp_path / "leak.html"
    status, output = command("--html", page)
    assert status == 0
    assert "layer 1, NO MASK" in output
    assert "although layer 2 is masked" in output
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_command_draws_a_submission_whose_other_steps_are_the_solutions(tmp_path):
    shutil.copy(ROOT / "solutions" / "step11_block.py", tmp_path)
    status, output = command("--submission", tmp_path, "--unmasked", "none")
    assert status == 0
    assert f"Who depends on whom in {tmp_path.name}/" in output
    assert "All 3 layers are masked" in output
