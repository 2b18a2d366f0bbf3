"""Ask questions about the lessons, and mark the answers.

`questions/stepNN_name.toml` holds a step's questions with their answers, in a bundle too. They earn
no points, so who wants to read an answer may.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.steps.paths import HOME, ROOT
from grader.steps.registry import Registry, Step, read_toml

FOLDER = Path(__file__).resolve().parent / "questions"
# The lesson before the first step has nothing to write, but it has questions.
PREFACE = Step("step00_whole_picture", "The whole picture", 0, source="", hints=(), functions=())
PREFACE_TEXT = ROOT / "docs" / "lessons" / f"{PREFACE.id}.md"  # not in a bundle


def find_preface() -> Path | None:
    """Return the text of step 0 in a learner's folder or in a checkout; None if it is not there."""
    places = (HOME / "exercises", HOME / "docs" / "lessons")
    return next((one for place in places if (one := place / PREFACE_TEXT.name).is_file()), None)


def find_lesson(registry: Registry, name: str) -> Step:
    """Return the step of that name, step 0 included. Raise ValueError if there is none."""
    match = re.fullmatch(r"(?:step)?(\d{1,3})", name.strip())
    is_preface = name.strip() == PREFACE.id or (match and int(match[1]) == PREFACE.number)
    return PREFACE if is_preface else registry.find(name)


class AnswerError(ValueError):
    """Say in one sentence which form an answer must have, because this one cannot be read."""


@dataclass(frozen=True)
class Question:
    """Hold a question. shape and digits say how a matrix and a number are read.

    key is the right answer, and replies holds the reply to each answer, all in their normal form.
    predict: it asks what a change would do, right after the step has passed.
    """

    id: str
    kind: str
    ask: str
    key: str = ""
    replies: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    digits: int = 3
    predict: bool = False

    @property
    def explains(self) -> bool:
        """Return whether it asks for the step in the learner's own words."""
        return self.kind == "open" and "two sentences" in self.ask


def questions(step: Step, folder: Path = FOLDER) -> tuple[Question, ...]:
    """Return the step's questions; none if the step has no file of questions."""
    path = folder / f"{step.id}.toml"
    return tuple(map(read_question, read_toml(path)["question"])) if path.is_file() else ()


def read_question(entry: Mapping[str, Any]) -> Question:
    """Return the question of an entry. Raise AnswerError if one of its answers is in no form."""
    bare = Question(
        *(entry["id"], entry["kind"], entry["ask"]),
        options=entry.get("options", {}),
        shape=tuple(entry.get("shape", ())),
        digits=entry.get("digits", 3),
        predict=entry.get("predict", False),
    )

    key = read(bare, entry.get("answer", ""))
    replies = {key: entry["why"]}
    for one in entry.get("wrong", ()):  # the sentence of a known mistake is about the answer
        begin = "Your answer looks like this mistake: " if "from" in one else ""
        replies[read(bare, one["answer"])] = f"{begin}{one['why']}"
    return replace(bare, key=key, replies=replies)


def mark(question: Question, answer: object) -> tuple[bool, str]:
    """Return whether an answer is right, and the reply to it; to an open question, a good answer.

    Raise AnswerError if it has the wrong form for the question.
    """
    given = read(question, answer)
    right, why = given == question.key, question.replies.get(given, "")
    if question.kind == "open":
        return right, f"One good answer: {why}"
    return right, f"{'Right.' if right else 'Not yet.'} {why}".rstrip()


def read(question: Question, answer: object) -> str:
    """Return an answer in its normal form. Raise AnswerError if it has the wrong form."""
    return KINDS[question.kind][1](question, answer)


def _plain(answer: object) -> Any:
    """Return lists and plain numbers in place of arrays and NumPy's numbers."""
    return answer.tolist() if hasattr(answer, "tolist") else answer


def _number(question: Question, answer: object) -> str:
    given = _plain(answer)
    text = str(int(given) if isinstance(given, bool) else given).replace("−", "-")
    first, *rest = re.split(r"([*·×/])", text.replace(",", ""))
    try:
        value = float(first)
        for sign, part in zip(rest[::2], rest[1::2]):
            value = value / float(part) if sign == "/" else value * float(part)
        rounded = round(value, question.digits) + 0.0  # no -0
    except (ValueError, ZeroDivisionError, OverflowError):
        short = repr(text) if len(text := str(given)) <= 30 else repr(f"{text[:27]}...")
        raise AnswerError(f"The answer is one number, and {short} is not.") from None
    if not rounded - rounded == 0:
        raise AnswerError("The answer is a finite number.")
    return f"{rounded:.{question.digits}f}"


def _rows(answer: object) -> list[list[Any]]:
    """Return an answer row by row: of an array, nested lists, or a text such as `1 0; 1 1`."""
    given = _plain(answer)
    if isinstance(given, str):
        lines = re.split(r"\]\s*,?\s*\[|;|\n", given)
        return [row for line in lines if (row := re.findall(r"[^\s,(){}\[\]]+", line))]
    rows = map(_plain, given if isinstance(given, (list, tuple, set, frozenset)) else [given])
    return [[*row] if isinstance(row, (list, tuple)) else [row] for row in rows]


def _matrix(question: Question, answer: object) -> str:
    rows, (high, wide) = _rows(answer), question.shape
    if high == 1 < len(rows) and all(len(row) == 1 for row in rows):
        rows = [[row[0] for row in rows]]  # a row without its brackets
    if len(rows) != high or any(len(row) != wide for row in rows):
        widths = " and ".join(sorted({str(len(row)) for row in rows}))
        found = f"{len(rows)} row{'s' * (len(rows) != 1)} of {widths}"
        raise AnswerError(f"The answer has {high} rows of {wide} numbers, yours has {found}.")
    return json.dumps([[_number(question, one) for one in row] for row in rows])


def _whole(answer: object, what: str, example: str) -> list[int]:
    items = [str(_plain(one)) for row in _rows(answer) for one in row]
    if not all(re.fullmatch(r"[0-9]{1,9}", one) for one in items):
        raise AnswerError(f"The answer is {what}, for example {example}.")
    return [int(one) for one in items]


def _shape(question: Question, answer: object) -> str:
    return str(_whole(answer, "a shape", "(2, 3)"))


def _positions(question: Question, answer: object) -> str:
    given = "{}" if isinstance(answer, str) and answer.strip().lower() == "none" else answer
    return str(sorted(set(_whole(given, "a set of numbers", "{0, 2}, or none"))))


def _choice(question: Question, answer: object) -> str:
    given = str(answer).strip().lower().rstrip(".)")
    if given not in question.options:
        raise AnswerError(f"The answer is one letter of {', '.join(question.options)}.")
    return given


def _order(question: Question, answer: object) -> str:
    items = answer if isinstance(answer, (list, tuple)) else re.findall(r"\w", str(answer))
    given = [str(one).strip().lower() for one in items]
    if sorted(given) != sorted(question.options):
        wanted = " ".join(question.options)
        raise AnswerError(f"The answer is an order of all of these, each once: {wanted}.")
    return " ".join(given)


def _open(question: Question, answer: object) -> str:
    return ""  # whatever was written: the model answer is shown to be compared with it


# The form of an answer to each kind of question, and what reads it.
KINDS = {
    "number": ("a number", _number),
    "matrix": ("a matrix, row by row, such as 1 2; 3 4", _matrix),
    "shape": ("a shape, such as (2, 3)", _shape),
    "positions": ("a set of numbers, such as {0, 2}, or none", _positions),
    "order": ("the letters in order", _order),
    "choice": ("one letter", _choice),
    "open": ("two sentences of your own, to be compared with ours", _open),
}


def find_question(registry: Registry, about: str) -> tuple[tuple[Question, ...], Question | None]:
    """Return the questions of step `3`, or question `3b`. Raise ValueError if there is none."""
    match = re.fullmatch(r"(\d{1,3})([a-z])", about.strip().lower())
    step = find_lesson(registry, match[1] if match else about)
    asked = questions(step)
    if not asked:
        raise ValueError(f"step {step.number} has no questions")
    if match is None:
        return asked, None
    for one in asked:
        if one.id == match[0]:
            return asked, one
    known = ", ".join(one.id for one in asked)
    raise ValueError(f"there is no question {match[0]}: step {step.number} has {known}")


def show_question(question: Question) -> list[str]:
    """Return the lines that ask a question: its text, the options, and the form of an answer."""
    options = [f"   {letter}) {text}" for letter, text in question.options.items()]
    return [f"{question.id}  {question.ask}", *options, f"   Answer: {KINDS[question.kind][0]}."]
