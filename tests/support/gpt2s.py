"""Tiny models for the tests of `gpt2` and `llama`, and the decoders that run them."""

import contextlib
import json
from pathlib import Path

from safetensors.numpy import save_file

from grader.demos import weights
from grader.demos.gpt2 import running
from grader.demos.gpt2.against import Model, make_tiny
from grader.demos.gpt2.family import Family
from grader.demos.submission_worker import gather, worker_with
from grader.intake.submission import Submission
from grader.steps import registry
from grader.steps.stubs import solutions

REGISTRY = registry.load()
RIGHT = solutions(REGISTRY)


def write(folder: Path, family: Family, **sizes: object) -> Path:
    """Write a tiny model's files, as they are published, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    model = make_tiny(family, **sizes)
    is_gpt2 = family.title == "GPT-2"
    prefix = "transformer." if is_gpt2 else "model."
    kept = {n if "head" in n else prefix + n: t for n, t in model.tensors.items()}
    if model.network.config.tie_word_embeddings:
        del kept["lm_head.weight"]
    save_file(kept, folder / weights.WEIGHTS, {"format": "pt"})
    settings = {
        name: value for name, value in model.network.config.to_dict().items() if value is not None
    }
    settings |= settings.pop("rope_parameters", {})
    (folder / weights.CONFIG).write_text(json.dumps(settings))
    model.tokenizer.save(str(folder / weights.TOKENIZER))
    return folder


def with_changes(changes: dict[str, tuple[str, str]]) -> dict[str, str]:
    """The right steps with one piece of text in some of them replaced."""
    sources = dict(RIGHT)
    for name, (old, new) in changes.items():
        assert sources[name].count(old) == 1, (name, old)
        sources[name] = sources[name].replace(old, new)
    return sources


def gathered(family: Family, sources: dict[str, str], right=RIGHT):
    """The steps that run a model of that family, and their program."""
    return gather(REGISTRY, Submission("me", sources), right, (*family.functions, "sample_token"))


@contextlib.contextmanager
def decoder(host, model: Model, sources=RIGHT):
    """A decoder of these steps with the model's params."""
    (_, program), functions = gathered(model.family, sources, {}), model.family.functions
    with worker_with(host, program, "The import of the steps") as worker:
        yield running.OwnDecoder(worker, program, model.params(), model.sizes, functions)
