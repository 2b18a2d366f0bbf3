"""The command `init`: write a learner's folder from the data of the package."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from grader.cli.paths import show_path
from grader.steps.commands import quote_path, spell_command
from grader.steps.paths import NOTEBOOKS
from grader.steps.quiz import PREFACE, PREFACE_TEXT
from grader.steps.registry import Registry, load
from grader.steps.stubs import stub_of, without_figures

TEMPLATE = Path(__file__).with_name("README.md.jinja")
TUTOR = Path(__file__).with_name("AGENTS.md")


def learner_files(registry: Registry) -> Iterator[tuple[str, str]]:
    """Yield each file in a learner's folder: step 0, stubs, notebooks, and texts about it."""
    from jinja2 import Template

    text = without_figures(PREFACE_TEXT.read_text(encoding="utf-8"))
    yield f"exercises/{PREFACE_TEXT.name}", text
    for step in registry.steps:
        yield f"exercises/{step.filename}", stub_of(step)
    notebooks = [NOTEBOOKS / f"{step.id}.ipynb" for step in (PREFACE, *registry.steps)]
    notebooks = [path for path in notebooks if path.is_file()]
    for path in notebooks:
        yield f"notebooks/{path.name}", path.read_text(encoding="utf-8")
    yield TUTOR.name, TUTOR.read_text(encoding="utf-8")
    readme = Template(TEMPLATE.read_text(encoding="utf-8"), keep_trailing_newline=True)
    yield "README.md", readme.render(first=registry.steps[0], preface=PREFACE, notebooks=notebooks)


def _summary(names: list[str]) -> str:
    """Return the files by their folders: `exercises (26), notebooks (26), README.md`."""
    counts = Counter(name.partition("/")[0] for name in names)
    return ", ".join(f"{name} ({n})" if name not in names else name for name, n in counts.items())


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
def init(folder: Path) -> None:
    """Write the exercises and notebooks into FOLDER, by default the current one."""
    registry = load()
    written, kept = list[str](), list[str]()
    for name, text in learner_files(registry):
        path = folder / name
        (kept if path.exists() else written).append(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if written:
        click.echo(f"Wrote {_summary(written)}.")
    if kept:
        click.echo(f"Kept what was there: {_summary(kept)}.")
    first = f"exercises/{registry.steps[0].filename}"
    is_here = folder.resolve() == Path.cwd().resolve()
    enter = "" if is_here else f"`cd {quote_path(show_path(folder))}`, "
    click.echo(
        f"\nNext: {enter}read exercises/{PREFACE_TEXT.name} (20 minutes), open {first}, "
        f"then run `{spell_command('check', home=folder)}`."
    )
