"""Read file names: the step that a name means, a notebook, an archive, a module of one's own.

A name means a step if the step's number is in it, and then the step's title or nothing but words
that browsers, editors and people add: `Step3_Mask.py`, `step03_mask (1).py`, `anna_step3.py`,
`step03_mask_final.py`, `Copy of step03-mask.py`, `step03_mask.py.txt`.
"""

import keyword
import re
import unicodedata
from collections.abc import Collection, Sequence

from grader.steps.registry import Registry, Step

# The number of a step, with its title or added words.
_MEANT = (
    r"(?:^|_)step_?0*{0}(?:_{1}(?:_|\Z)|(?:_(?:copy\d*|kopie|copie|copia|final|v?\d{{1,3}}))*\Z)"
)
_NAME = re.compile(
    r"(.*?)(?:(?P<source>\.py(?:\.txt)?)|(?P<notebook>\.ipynb(?:\.txt|\.json)?)|(?P<archive>"
    r"(?:\.tar)?\.(?:zip|tar|tgz|tbz2?|txz|gz|bz2|xz|zst|7z|rar)))\s*",  # browsers add `.txt`
    re.IGNORECASE | re.DOTALL,
)


def kind_of(name: str) -> str:
    """Return `source`, `notebook` or `archive`; "" for a file that holds no code."""
    match = _NAME.fullmatch(name)
    return (match and match.lastgroup) or ""


def stem(name: str) -> str:
    """Return the name of a file that may hold code without its ending; any other as it is."""
    match = _NAME.fullmatch(name)
    return (match and match[1]) or name


def step_meant(name: str, registry: Registry) -> Step | None:
    """Return the step that the name of a source or a notebook means; None for any other file.

    >>> from grader.steps.registry import load
    >>> step_meant("Anna - Step3 mask (1).py", load()).id
    'step03_mask'
    """
    if name in registry.by_filename:  # as nearly all are
        return registry.by_filename[name]
    if kind_of(name) not in ("source", "notebook"):
        return None
    plain = unicodedata.normalize("NFKC", stem(name)[:100]).casefold()
    words = re.sub(r"[\W_]+", "_", plain).strip("_")
    meant = [
        step
        for step in registry.steps
        if re.search(_MEANT.format(step.number, step.id.partition("_")[2]), words)
    ]
    return meant[0] if len(meant) == 1 else None


def module_name(path: Sequence[str], registry: Registry) -> str:
    """Return the dotted name under which a file is imported; "" if it cannot be, or is a step.

    path: the file's folders, below that of the steps, and its name.

    >>> from grader.steps.registry import load
    >>> module_name(["shapes", "heads.py"], load()), module_name(["step03_mask.py"], load())
    ('shapes.heads', '')
    """
    *folders, name = path
    stem = unicodedata.normalize("NFKC", name[: -len(".py")]) if name.endswith(".py") else ""
    parts = folders if folders and stem == "__init__" else [*folders, stem]
    steps = {step.id for step in registry.steps}
    names = [one for one in parts if one.isidentifier() and not keyword.iskeyword(one)]
    is_module = names == parts and not any(one.startswith("__") for one in parts)
    return ".".join(parts) if is_module and not steps & {parts[0], parts[-1]} else ""


def module_path(name: str, modules: Collection[str]) -> str:
    """Return the file of one of these modules: `shapes/__init__.py` if others are in `shapes`."""
    file = name.replace(".", "/")
    inside = any(other.startswith(f"{name}.") for other in modules)
    return f"{file}/__init__.py" if inside else f"{file}.py"
