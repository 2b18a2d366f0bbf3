"""Ask questions about the lessons, and mark the answers.

`questions/stepNN_name.toml` holds a step's questions with their answers. A students' bundle has
`stepNN_name.json` instead. That file holds each answer as a salted hash, and each explanation
locked with the answer that it belongs to. Both files are read into the same records, and only
hashes of answers are compared.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader.steps.paths import ROOT
from grader.steps.registry import Registry, Step, read_toml

FOLDER = Path(__file__).resolve().parent / "questions"
# The lesson before the first step has nothing to write, but it has questions.
PREFACE = Step("step00_whole_picture", "The whole picture", 0, source="", hints=(), functions=())
PREFACE_TEXT = ROOT / "docs" / "lessons" / f"{PREFACE.id}.md"  # not in a bundle
KINDS = ("number", "matrix", "shape", "positions", "order", "choice", "open")
ROUNDS = 1000  # of the hash: too few to notice, enough to make a table of all answers a nuisance


class AnswerError(ValueError):
    """Say in one sentence which form an answer must have, because this one cannot be read."""


@dataclass(frozen=True)
class Question:
    """Hold a question. shape and digits say how a matrix and a number are read.

    key is the hash of the right answer. locked holds the reply to each answer, by the answer's
    hash.
    """

    id: str
    kind: str
    ask: str
    salt: str
    key: str
    locked: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    digits: int = 3


@dataclass(frozen=True)
class Marked:
    """Hold the verdict on an answer, and the reason; for an open question, the model answer."""

    right: bool
    why: str


def questions(step: Step, folder: Path = FOLDER) -> tuple[Question, ...]:
    """Return the step's questions; none if the step has no file of questions."""
    locked, plain = folder / f"{step.id}.json", folder / f"{step.id}.toml"
    if locked.is_file():
        entries = json.loads(locked.read_text(encoding="utf-8"))
    elif plain.is_file():
        entries = [lock(entry) for entry in read_toml(plain)["question"]]
    else:
        return ()
    return tuple(Question(**{**one, "shape": tuple(one["shape"])}) for one in entries)


def without_answers(entry: Mapping[str, Any]) -> Question:
    """Return a question that can read answers, but not mark them."""
    return Question(
        *(entry["id"], entry["kind"], entry["ask"]),
        salt=hashlib.sha256(f"{entry['id']}: {entry['ask']}".encode()).hexdigest()[:16],
        key="",
        locked={},
        options=entry.get("options", {}),
        shape=tuple(entry.get("shape", ())),
        digits=entry.get("digits", 3),
    )


def lock(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question as a bundle holds it: answers as hashes, explanations locked."""
    bare = without_answers(entry)
    told = {read(bare, entry.get("answer", "")): entry["why"]}
    told |= {read(bare, one["answer"]): _reason(one) for one in entry.get("wrong", ())}
    locked = {}
    for answer, why in told.items():
        name, secret = _hash(bare, answer)
        locked[name] = base64.b64encode(_mix(why.encode(), secret)).decode()
    return {**asdict(bare), "key": next(iter(locked)), "locked": locked}


def _reason(wrong: Mapping[str, Any]) -> str:
    """Return the reply to a wrong answer; the sentence of a known mistake is about the answer."""
    if "from" in wrong:
        return f"Your answer looks like this mistake: {wrong['why']}"
    return str(wrong["why"])


def _hash(question: Question, answer: str) -> tuple[str, bytes]:
    """Return the hash of an answer, and the secret that opens its explanation."""
    salt = question.salt.encode()
    found = hashlib.pbkdf2_hmac("sha256", answer.encode(), salt, ROUNDS, dklen=64)
    return found[:16].hex(), found[32:]


def _mix(data: bytes, secret: bytes) -> bytes:
    """Combine the data with a stream made from the secret; doing it twice restores the data."""
    blocks = (hashlib.sha256(secret + bytes([i])).digest() for i in range(len(data) // 32 + 1))
    stream = itertools.chain.from_iterable(blocks)
    return bytes(one ^ other for one, other in zip(data, stream, strict=False))


def mark(question: Question, answer: object) -> Marked:
    """Judge an answer. Raise AnswerError if it has the wrong form for the question."""
    name, secret = _hash(question, read(question, answer))
    why = ""
    if name in question.locked:
        why = _mix(base64.b64decode(question.locked[name]), secret).decode()
    if name == question.key:
        return Marked(True, why)
    return Marked(False, why or "Work it through once more, by hand, with the lesson beside you.")


def read(question: Question, answer: object) -> str:
    """Return an answer in its normal form. Raise AnswerError if it has the wrong form."""
    return READERS[question.kind](question, answer)


def _plain(answer: object) -> Any:
    """Return lists and plain numbers in place of arrays and NumPy's numbers."""
    return answer.tolist() if hasattr(answer, "tolist") else answer


def _number(question: Question, answer: object) -> str:
    given = _plain(answer)
    given = int(given) if isinstance(given, bool) else given
    text = str(given).replace(",", "") if isinstance(given, str) else str(given)
    top, slash, bottom = text.partition("/")
    try:
        value = float(top) / float(bottom) if slash else float(text)
        rounded = round(value, question.digits) + 0.0  # no -0
    except (ValueError, ZeroDivisionError, OverflowError):
        raise AnswerError(f"The answer is one number, and {_short(given)} is not.") from None
    if not rounded - rounded == 0:
        raise AnswerError("The answer is a finite number.")
    return f"{rounded:.{question.digits}f}"


def _matrix(question: Question, answer: object) -> str:
    given = _plain(answer)
    rows = _rows(given) if isinstance(given, str) else given
    if not isinstance(rows, (list, tuple)):
        raise AnswerError(f"The answer is a matrix, row by row: {_example(question.shape)}.")
    rows = [[*row] if isinstance(row, (list, tuple)) else [row] for row in map(_plain, rows)]
    wanted_rows, wanted_columns = question.shape
    if len(rows) != wanted_rows or any(len(row) != wanted_columns for row in rows):
        widths = " and ".join(sorted({str(len(row)) for row in rows}))
        found = f"{len(rows)} row{'s' * (len(rows) != 1)} of {widths}"
        raise AnswerError(
            f"The answer has {wanted_rows} rows of {wanted_columns} numbers, yours has {found}."
        )
    return json.dumps([[_number(question, one) for one in row] for row in rows])


def _rows(text: str) -> list[list[float]]:
    """Read `1 0; 1 1`, or `[[1, 0], [1, 1]]`."""
    inner = text.strip().removeprefix("[[").removesuffix("]]")
    try:
        lines = [line for line in re.split(r"\]\s*,?\s*\[|;|\n", inner) if line.strip()]
        return [[float(one) for one in re.split(r"[\s,]+", line.strip(" ,"))] for line in lines]
    except ValueError:
        raise AnswerError(f"{_short(text)} is not a matrix of numbers.") from None


def _example(shape: Sequence[int]) -> str:
    return "; ".join(" ".join("0" * shape[1]) for _ in range(shape[0]))


def _whole(answer: object, what: str, example: str) -> list[int]:
    given = _plain(answer)
    if isinstance(given, str):
        if re.sub(r"[\s,(){}\[\]]|\d", "", given):
            raise AnswerError(f"The answer is {what}, for example {example}.")
        return [int(one) for one in re.findall(r"\d+", given)]
    items = [given] if isinstance(given, int) else given
    if not isinstance(items, (list, tuple, set, frozenset)):
        raise AnswerError(f"The answer is {what}, for example {example}.")
    whole = [_plain(one) for one in items]
    if not all(isinstance(one, int) and one >= 0 for one in whole):
        raise AnswerError(f"The answer is {what}, for example {example}.")
    return [int(one) for one in whole]


def _shape(question: Question, answer: object) -> str:
    return str(_whole(answer, "a shape", "(2, 3)"))


def _positions(question: Question, answer: object) -> str:
    given = "{}" if isinstance(answer, str) and answer.strip().lower() == "none" else answer
    return str(sorted(set(_whole(given, "a set of positions", "{0, 2}, or none"))))


def _letters(question: Question, answer: object) -> list[str]:
    items = answer if isinstance(answer, (list, tuple)) else re.findall(r"\w", str(answer))
    return [str(one).strip().lower() for one in items]


def _choice(question: Question, answer: object) -> str:
    given = str(answer).strip().lower().rstrip(".)")
    if given not in question.options:
        raise AnswerError(f"The answer is one letter of {', '.join(question.options)}.")
    return given


def _order(question: Question, answer: object) -> str:
    given = _letters(question, answer)
    if sorted(given) != sorted(question.options):
        wanted = " ".join(question.options)
        raise AnswerError(f"The answer is an order of all of these, each once: {wanted}.")
    return " ".join(given)


def _open(question: Question, answer: object) -> str:
    return ""  # whatever was written: the model answer is shown to be compared with it


def _short(given: object) -> str:
    text = str(given)
    return repr(text if len(text) <= 30 else f"{text[:27]}...")


READERS = {
    "number": _number,
    "matrix": _matrix,
    "shape": _shape,
    "positions": _positions,
    "order": _order,
    "choice": _choice,
    "open": _open,
}


def find_question(registry: Registry, about: str) -> tuple[tuple[Question, ...], Question | None]:
    """Return the questions of step `3`, or question `3b`. Raise ValueError if there is none."""
    match = re.fullmatch(r"(\d{1,3})([a-z])", about.strip().lower())
    named = match[1] if match else about.strip()
    step = PREFACE if named == str(PREFACE.number) else registry.find(named)
    asked = questions(step)
    if not asked:
        raise ValueError(f"step {step.number} has no questions")
    if match is None:
        return asked, None
    for one in asked:
        if one.id == match[0]:
            return asked, one
    raise ValueError(f"there is no question {match[0]}: step {step.number} has {_ids(asked)}")


def _ids(asked: Sequence[Question]) -> str:
    return ", ".join(one.id for one in asked)


FORMS = {
    "number": "a number",
    "matrix": "a matrix, row by row, such as 1 2; 3 4",
    "shape": "a shape, such as (2, 3)",
    "positions": "a set of positions, such as {0, 2}, or none",
    "order": "the letters in order",
    "choice": "one letter",
    "open": "two sentences of your own, to be compared with ours",
}


def show_question(question: Question) -> list[str]:
    """Return the lines that ask a question: its text, the options, and the form of an answer."""
    options = [f"   {letter}) {text}" for letter, text in question.options.items()]
    return [f"{question.id}  {question.ask}", *options, f"   Answer: {FORMS[question.kind]}."]


def verdict(question: Question, marked: Marked) -> str:
    """Return the reply to an answer."""
    if question.kind == "open":
        return f"One good answer: {marked.why}"
    return f"{'Right.' if marked.right else 'Not yet.'} {marked.why}"


class Record:
    """Record which questions were answered, in a small file; ignore a file that cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def done(self) -> frozenset[str]:
        """Return the ids of the questions that were answered correctly."""
        with contextlib.suppress(OSError, ValueError):
            data = json.loads(self.path.read_text(encoding="utf-8"))
            if isinstance(data, list):
                return frozenset(one for one in data if isinstance(one, str))
        return frozenset()

    def add(self, question: str) -> None:
        """Note that a question was answered correctly."""
        with contextlib.suppress(OSError):
            text = json.dumps(sorted(self.done() | {question}))
            self.path.write_text(f"{text}\n", encoding="utf-8")
