"""`python -m grader llama` as its users have it: one sentence for whatever is wrong."""

import json
import os
import shutil
import subprocess
import sys

import huggingface_hub
import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import load_file, save_file

from grader.cli.demos import models
from grader.demos.gpt2 import weights
from grader.demos.llama import tiny
from tests.conftest import ROOT

SOLUTIONS = ROOT / "solutions"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the tiny model; for reading."""
    folder = tmp_path_factory.mktemp("made")
    tiny.make(folder, tiny.TINY)
    return folder


@pytest.fixture
def copied(made, tmp_path):
    """The same, for spoiling."""
    return shutil.copytree(made, tmp_path / "model")


@pytest.fixture
def llama(made, monkeypatch):
    """llama(arguments): the command in this process, because importing torch takes seconds."""
    monkeypatch.setattr(tiny, "make_cached", lambda: made)

    def run(*arguments, submission=SOLUTIONS, tokens=6):
        given = [*map(str, arguments), "--submission", str(submission), "--tokens", str(tokens)]
        return CliRunner().invoke(models.llama, given)

    return run


def change(**changes):
    """Return what changes a folder's config.json; a value of None takes the key away."""

    def spoil(folder):
        path = folder / weights.CONFIG
        settings = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({k: v for k, v in settings.items() if v is not None}))

    return spoil


def tensors(changed):
    def spoil(folder):
        path = folder / weights.WEIGHTS
        found = load_file(path)
        changed(found)
        save_file(found, path)

    return spoil


def add_bias(found):
    found["model.layers.1.self_attn.q_proj.bias"] = np.ones(64, np.float32)


def rename(found):
    for name in list(found):
        found[f"h.{name.removeprefix('model.')}"] = found.pop(name)


# What is done to the folder, and what is said.
BAD = {
    "another architecture": (
        change(model_type="gpt2"),
        "describes a model of type 'gpt2', not 'llama': name weights of a Llama",
    ),
    "scaled angles": (
        change(rope_scaling={"rope_type": "llama3", "factor": 8.0}),
        "scales the rotary angles ('llama3'), which step 20 does not: name another model",
    ),
    "scaled angles, as older files say it": (
        change(rope_scaling={"type": "linear", "factor": 2.0}),
        "scales the rotary angles ('linear'), which step 20 does not: name another model",
    ),
    "scaled angles, as newer files say it": (
        change(rope_parameters={"rope_type": "yarn", "rope_theta": 1e4}),
        "scales the rotary angles ('yarn'), which step 20 does not: name another model",
    ),
    "angles for half a head": (
        change(partial_rotary_factor=0.5),
        "turns only a part of a head (0.5), but step 20 turns all of it: name another model",
    ),
    "biases in attention": (
        change(attention_bias=True),
        "has attention_bias = True, but step 21's heads have no biases: name another model",
    ),
    "biases in the network": (
        change(mlp_bias=True),
        "has mlp_bias = True, but step 25's network has no biases: name another model",
    ),
    "biases in the file": (
        tensors(add_bias),
        "holds 1 biases, the first model.layers.1.self_attn.q_proj.bias, but steps 21 and 25",
    ),
    "a sliding window": (
        change(sliding_window=64),
        "has a sliding window of 64, but step 25's layers see the whole text: name another model",
    ),
    "the window of a Mistral": (
        change(model_type="mistral"),
        "has a sliding window of 4096, but step 25's layers see the whole text",
    ),
    "sliding layers": (
        change(layer_types=["full_attention", "sliding_attention", "full_attention"]),
        "has layers of type 'sliding_attention', but step 25's layers see the whole text",
    ),
    "another gate": (
        change(hidden_act="gelu"),
        "has hidden_act = 'gelu', but step 25's gate is silu: name another model",
    ),
    "quantised": (
        change(quantization_config={"bits": 4}),
        "has quantization_config, but the steps compute with whole numbers of floating point",
    ),
    "odd heads": (
        change(head_dim=15),
        "has heads of 15 features, which have no pairs: get it again",
    ),
    "heads that do not share": (
        change(num_key_value_heads=3),
        "shares 3 key heads among 4 query heads: get it again",
    ),
    "no layers": (change(num_hidden_layers=None), "says no num_hidden_layers: get it again"),
    "a base of nothing": (change(rope_theta=0), "has no usable rope_theta: get it again"),
    "more layers than tensors": (
        change(num_hidden_layers=4),
        "lacks the tensor model.layers.3.self_attn.q_proj.weight and 8 more: get the weights again",
    ),
    "a million layers": (
        change(num_hidden_layers=10**6),
        "tensors, but config.json asks for 1000000 layers: weights and config.json must belong",
    ),
    "angles that are a list": (
        change(rope_scaling=[1]),
        "has no usable rope_scaling: get it again, with the weights",
    ),
    "layers that are a number": (
        change(layer_types=3),
        "has no usable layer_types: get it again, with the weights",
    ),
    "a base beyond all numbers": (
        change(rope_theta=10**400),
        "has no usable rope_theta: get it again",
    ),
    "another head size": (
        change(head_dim=12),
        "model.layers.0.self_attn.q_proj.weight has shape (64, 48), but config.json asks for "
        "(48, 48): weights and config.json must belong together",
    ),
    "a head that should be tied": (
        change(tie_word_embeddings=True),
        "has an output head of its own, but config.json ties it to the embedding",
    ),
    "no head": (
        tensors(lambda found: found.pop("lm_head.weight")),
        "lacks the tensor lm_head.weight: get the weights again, in one file",
    ),
    "another architecture's tensors": (tensors(rename), "holds none of a Llama's tensors"),
    "an empty file": (
        lambda folder: (folder / weights.WEIGHTS).write_bytes(b""),
        "is not a whole safetensors file (an interrupted download?): get it again",
    ),
    "no weights": (
        lambda folder: (folder / weights.WEIGHTS).unlink(),
        "there is no model.safetensors in",
    ),
    "no configuration": (
        lambda folder: (folder / weights.CONFIG).unlink(),
        "it says how many heads there are, which the weights do not",
    ),
    "a broken configuration": (
        lambda folder: (folder / weights.CONFIG).write_text("{"),
        "config.json cannot be read as JSON: get it again",
    ),
    "a broken tokenizer": (
        lambda folder: (folder / weights.TOKENIZER).write_text("{}"),
        "tokenizer.json is not a tokenizer: get it again",
    ),
}


def refused(done, said):
    """Assert that the command ended as it should: one sentence, and no traceback."""
    assert isinstance(done.exception, SystemExit), done.exc_info
    assert done.exit_code == 2
    assert said in done.output.splitlines()[-1]
    assert done.output.splitlines()[-1].startswith("nopeek: ")
    assert "Traceback" not in done.output


@pytest.mark.parametrize("name", BAD)
def test_bad_weights_are_refused_in_one_sentence(llama, copied, name):
    spoil, said = BAD[name]
    spoil(copied)
    refused(llama("--weights", copied), said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prompt", ""], "the prompt is empty: begin a text with --prompt"),
        (["--prompt", "words " * 300], "the model reads no more than 256, what it writes included"),
        (["--weights", "elsewhere"], "--tiny is a model of its own: leave out --weights"),
    ],
    ids=["empty", "long", "two models"],
)
def test_bad_arguments_are_refused_in_one_sentence(llama, arguments, said):
    refused(llama("--tiny", *arguments), said)


def test_run_says_all_there_is_to_say(llama, made):
    done = llama("--weights", made / weights.WEIGHTS, "--prompt", "The mask")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("Llama: the weights in")
    assert "The code that runs it, all of it yours:" in lines
    assert " + 25  Llama                yours" in lines
    assert "Against transformers, the same weights, 32 tokens, float32:" in lines
    assert sum("agrees" in line for line in lines) == 4
    assert any(line.startswith("The mask") for line in lines)
    assert any(line.startswith("With the cache: 6 tokens") for line in lines)
    assert "the same tokens." in done.output.replace("\n", " ")


def test_without_a_tokenizer_ids_are_written(llama, copied):
    (copied / weights.TOKENIZER).unlink()
    done = llama("--weights", copied, "--prompt", "5 6 7")
    assert done.exit_code == 0, done.output
    text = next(line for line in done.output.splitlines() if line.startswith("5 6 7 "))
    assert all(word.isdecimal() for word in text.split())
    assert llama("--weights", copied, "--no-cache", "--float64").exit_code == 0
    refused(llama("--weights", copied, "--prompt", "Once"), "as in --prompt '1 2 3'")


def test_no_network_lets_the_tiny_model_stand_in(llama, monkeypatch):
    def refuse(name, _, local_files_only=False):
        assert name == "HuggingFaceTB/SmolLM2-135M"
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    done = llama()
    assert done.exit_code == 0, done.output
    assert "SmolLM2-135M cannot be downloaded: is there a network?" in done.output.splitlines()[0]
    assert "Llama: a tiny one made here, its weights random" in done.output


def test_wrong_step_writes_nothing_and_ends_with_1(llama, tmp_path):
    mine = shutil.copytree(SOLUTIONS, tmp_path / "mine")
    path = mine / "step25_llama.py"
    text = path.read_text("utf-8")
    text = text.replace("np.arange(start, stop), d", "np.arange(stop - start), d")
    path.write_text(text, "utf-8")
    (mine / "step09_heads.py").unlink()
    done = llama("--tiny", submission=mine)
    assert done.exit_code == 1
    assert " x llama_step, token by token: differs by up to" in done.output
    assert " -  9  Heads                the solution's (you have no step09_heads.py)" in done.output
    assert "Step 25 by itself makes them differ: `make check STEP=25`." in done.output
    assert "With the cache" not in done.output


@pytest.mark.long
def test_command_is_quiet_on_the_error_stream(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "grader", "llama", "--tiny", "--tokens", "8"),
            *("--submission", str(SOLUTIONS)),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        encoding="ascii",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines()[:20])) <= 80
    assert len(list((tmp_path / "cache" / "nopeek").iterdir())) == 1
