"""Write a lesson's page in Markdown from its solution file: text, stubs, figures and questions.

A lesson writes its formulas so that they can be read in a Python file. `formulas.toml` has the TeX
of each. The book gets MathML, which browsers draw without a script.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path

import jupytext
import latex2mathml.converter

from grader.steps.quiz import KINDS, PREFACE, Question, questions
from grader.steps.registry import Step, read_toml
from grader.steps.stubs import FIGURE, find_defined, remove_solutions, solution_of

Link = Callable[[str], str]
_LOOK = re.compile(r"^look\.(\w+)\(", re.MULTILINE)
HINT = """\
!!! tip "How to try it"
    Write it in `exercises/{filename}`, then run `make check STEP={number}`. In a notebook, open
    `{id}.ipynb` with `make lab`. `make look STEP={number}` draws what your functions do."""
NO_SCRIPT = "<noscript>The questions need JavaScript. `make quiz` asks them too.</noscript>"
UNTIMED = "`make look STEP={number}` draws this with your functions, on your machine."
FILE = Path(__file__).with_name("formulas.toml")
_BLOCK = re.compile(r"(?:^    .*\n?(?:\n(?=    ))?)+", re.MULTILINE)


@cache
def read_formulas(path: Path = FILE) -> Mapping[str, str]:
    """Return the TeX of each formula, by its text."""
    return {entry["text"]: entry["tex"] for entry in read_toml(path)["formula"]}


def render_mathml(tex: str) -> str:
    """Return the MathML of a formula; parts with a wide space between them may wrap there."""
    parts = tex.split(r"\qquad")
    return "".join(latex2mathml.converter.convert(part, display="block") for part in parts)


def find_blocks(text: str) -> list[str]:
    """Return the indented blocks of a text, without their indentation."""
    return [_unindent(found) for found in _BLOCK.findall(text)]


def _unindent(block: str) -> str:
    return "\n".join(line[4:] for line in block.rstrip().splitlines())


def typeset(text: str) -> str:
    """Return the text with MathML in place of every indented block that is a known formula."""
    known = read_formulas()

    def replace(match: re.Match[str]) -> str:
        tex = known.get(_unindent(match[0]))
        if tex is None:
            return match[0]
        return f'<div class="formula" tabindex="0">{render_mathml(tex)}</div>\n'

    return _BLOCK.sub(replace, text)


def lesson_page(step: Step, figures: Path, link: Link) -> str:
    """Return the page of a step. figures: where its SVG files are; link: links its citations."""
    return "\n\n".join([*_cells(step, figures, link), *_forms(step)]) + "\n"


def _forms(step: Step) -> list[str]:
    """Return the questions about a lesson, below their heading."""
    forms = [question_form(one) for one in questions(step)]
    return ["## Questions", "They earn no points.", NO_SCRIPT, *forms] if forms else []


def _cells(step: Step, figures: Path, link: Link) -> Iterator[str]:
    cells = jupytext.reads(remove_solutions(solution_of(step)), fmt="py:percent").cells
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            yield link(typeset(cell.source))
            if number == 0:
                yield HINT.format(filename=step.filename, number=step.number, id=step.id)
        elif looks := _LOOK.findall(cell.source):
            yield from (_figure(step, look, figures) for look in looks)
        else:
            title = f' title="exercises/{step.filename}"' if find_defined(cell.source, step) else ""
            yield f"```python{title}\n{cell.source}\n```"


def _figure(step: Step, look: str, figures: Path) -> str:
    """Return the SVG files of the pictures in a lesson, in the page's own colours."""
    found = sorted(figures.glob(f"{step.id}-{look}-*.svg"))
    if not found:
        return UNTIMED.format(number=step.number)
    return inline(*found)


def inline(*files: Path) -> str:
    """Return drawings, side by side, in the page's own colours."""
    drawn = "".join(path.read_text(encoding="utf-8").strip() for path in files)
    return f'<div class="figures">{drawn}</div>\n'


def preface_page(path: Path, link: Link) -> str:
    """Return the page of step 0, with its figures and questions."""
    text = path.read_text(encoding="utf-8")
    text = FIGURE.sub(lambda found: inline(*sorted(path.parent.glob(f"{found[1]}*.svg"))), text)
    return "\n\n".join([link(typeset(text)), *_forms(PREFACE)]) + "\n"


def question_form(question: Question) -> str:
    """Return a question as a form, which answers without a server."""
    data = asdict(question)
    name = f"answer-{question.id}"
    if question.kind == "choice":
        field = "".join(
            f'<label><input type="radio" name="{name}" value="{letter}"> {escape(text)}</label>'
            for letter, text in question.options.items()
        )
    else:
        listed = "".join(f"<li>{k}) {escape(v)}</li>" for k, v in question.options.items())
        tag = "textarea rows=3" if question.kind in ("open", "matrix") else 'input type="text"'
        end = "</textarea>" if tag.startswith("textarea") else ""
        field = (
            f'<ul>{listed}</ul><label for="{name}">{KINDS[question.kind][0].capitalize()}</label>'
        )
        field += f'<{tag} id="{name}" name="{name}" autocomplete="off">{end}'
    button = "Show one good answer" if question.kind == "open" else "Answer"
    # One line, because Markdown leaves HTML alone only up to the next empty line.
    return (
        f'<form class="question" id="{question.id}" data-question="{escape(json.dumps(data))}">'
        f"<p><b>{question.id}</b> {escape(question.ask)}</p><div>{field}</div>"
        f'<button type="submit">{button}</button><output aria-live="polite"></output></form>'
    )
