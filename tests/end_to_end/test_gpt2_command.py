"""`python -m grader gpt2` as its users have it: one sentence for whatever is wrong."""

import io
import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace

import huggingface_hub
import numpy as np
import pytest
from click.testing import CliRunner
from huggingface_hub import errors
from safetensors.numpy import load_file, save_file

from grader.cli.demos import models
from grader.demos.gpt2 import tiny, weights, writing
from grader.report.text.terminal import Printer
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
def gpt2(made, monkeypatch):
    """gpt2(arguments): the command in this process, for importing torch takes seconds."""
    monkeypatch.setattr(tiny, "make_cached", lambda: made)

    def run(*arguments, submission=SOLUTIONS, tokens=6):
        given = [*map(str, arguments), "--submission", str(submission)]
        given += ["--tokens", str(tokens)] if tokens else []
        return CliRunner().invoke(models.gpt2, given)

    return run


def said(done):
    return " ".join(done.output.split())


def settings(folder, **changes):
    path = folder / weights.CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def tensors(folder, change):
    path = folder / weights.WEIGHTS
    found = load_file(path)
    change(found)
    save_file(found, path)


def truncate(folder):
    data = (folder / weights.WEIGHTS).read_bytes()
    (folder / weights.WEIGHTS).write_bytes(data[:-1000])


def rename(folder):
    def change(found):
        for name in list(found):
            found[f"model.layers.{name}.q_proj"] = found.pop(name)

    tensors(folder, change)


def own_head(found):
    found["lm_head.weight"] = found["transformer.wte.weight"] + np.float32(1)


# What is done to the folder, and what is said.
BAD = {
    "another architecture": (
        lambda folder: settings(folder, model_type="llama"),
        "config.json describes a model of type 'llama', not 'gpt2': name weights of a GPT-2",
    ),
    "another architecture's tensors": (rename, "holds none of GPT-2's tensors: name weights of a"),
    "exact gelu": (
        lambda folder: settings(folder, activation_function="gelu"),
        "has activation_function = 'gelu', which the steps do not compute: they have 'gelu_new'",
    ),
    "another epsilon": (
        lambda folder: settings(folder, layer_norm_epsilon=1e-6),
        "has layer_norm_epsilon = 1e-06, which the steps do not compute: they have 1e-05",
    ),
    "no heads": (lambda folder: settings(folder, n_head=None), "says no n_head: get it again"),
    "heads that do not divide": (
        lambda folder: settings(folder, n_head=5),
        "divides 48 features among 5 heads: get it again",
    ),
    "a missing tensor": (
        lambda folder: tensors(folder, lambda found: found.pop("transformer.h.1.ln_2.bias")),
        "lacks the tensor h.1.ln_2.bias: get the weights again",
    ),
    "missing layers": (
        lambda folder: settings(folder, n_layer=4),
        "lacks the tensor h.3.ln_1.weight and 11 more: get the weights again",
    ),
    "a million layers": (
        lambda folder: settings(folder, n_layer=10**6),
        "tensors, but config.json asks for 1000000 layers: weights and config.json must belong",
    ),
    "as many features as nothing holds": (
        lambda folder: settings(folder, n_embd=10**12),
        "says no n_embd: get it again",
    ),
    "a truth for a size": (
        lambda folder: settings(folder, n_layer=True),
        "says no n_layer: get it again",
    ),
    "a long text for a setting": (
        lambda folder: settings(folder, activation_function="gelu" * 10**4),
        "has activation_function = something long, which the steps do not compute",
    ),
    "a configuration of many megabytes": (
        lambda folder: settings(folder, more="a" * 2**21),
        "config.json cannot be read as JSON: get it again",
    ),
    "a configuration that is nested deeply": (
        lambda folder: (folder / weights.CONFIG).write_text("[" * 10**5),
        "config.json cannot be read as JSON: get it again",
    ),
    "wrong shapes": (
        lambda folder: settings(folder, vocab_size=500),
        "wte.weight has shape (512, 48), but config.json asks for (500, 48): weights and",
    ),
    "a head of its own": (
        lambda folder: tensors(folder, own_head),
        "has an output head of its own, but step 12's is the embedding",
    ),
    "a truncated download": (
        truncate,
        "is not a whole safetensors file (an interrupted download?): get it again",
    ),
    "not safetensors": (
        lambda folder: (folder / weights.WEIGHTS).write_bytes(b"PK\x03\x04" * 100),
        "is not a whole safetensors file (an interrupted download?): get it again",
    ),
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
    "a configuration that is a list": (
        lambda folder: (folder / weights.CONFIG).write_text("[]"),
        "describes a model of type None, not 'gpt2'",
    ),
    "no tokenizer": (
        lambda folder: (folder / weights.TOKENIZER).unlink(),
        "there is no tokenizer.json in",
    ),
    "a broken tokenizer": (
        lambda folder: (folder / weights.TOKENIZER).write_text("{}"),
        "tokenizer.json is not a tokenizer: get it again",
    ),
}


def refused(done, said):
    """Return whether the command ended with one sentence and no traceback."""
    assert isinstance(done.exception, SystemExit), done.exc_info
    assert done.exit_code == 2
    assert said in done.output.splitlines()[-1]
    assert done.output.splitlines()[-1].startswith("nopeek: ")
    assert "Traceback" not in done.output


@pytest.mark.parametrize("name", BAD)
def test_bad_weights_are_refused_in_one_sentence(gpt2, copied, name):
    spoil, said = BAD[name]
    spoil(copied)
    refused(gpt2("--weights", copied), said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prompt", ""], "the prompt is empty: begin a text with --prompt"),
        (["--prompt", " \n"], "the prompt is empty: begin a text with --prompt"),
        (["--prompt", "words " * 300], "the model reads no more than 256, what it writes included"),
        (["--prompt", "words", "--tokens", "256"], "ask for --tokens 255 at most"),
        (["--submission", "nowhere"], "there is no folder nowhere"),
        (["--weights", "elsewhere"], "--tiny is a model of its own: leave out --weights"),
    ],
    ids=["empty", "blank", "long", "too many", "no submission", "two models"],
)
def test_bad_arguments_are_refused_in_one_sentence(gpt2, made, arguments, said):
    given = ["--tiny", *arguments]
    tokens = 6 if "--tokens" not in arguments else 256
    submission = "nowhere" if "nowhere" in arguments else SOLUTIONS
    refused(gpt2(*given, submission=submission, tokens=tokens), said)


def test_submission_is_looked_for_before_anything_is_downloaded(gpt2, monkeypatch):
    monkeypatch.setattr(weights, "locate", lambda name: pytest.fail(f"{name} is downloaded"))
    refused(gpt2("--weights", "somebody/a-model", submission="nowhere"), "there is no folder")


@pytest.mark.parametrize("name", ["./nowhere", "no/such/path", "gone.safetensors"])
def test_weights_that_are_not_there_are_refused(gpt2, name):
    refused(gpt2("--weights", name), f"there is no folder or file {name}: name one, or a model")


def test_name_that_is_none_is_refused(gpt2):
    refused(gpt2("--weights", "two words"), "cannot be a model's name on the hub")


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_no_network_lets_the_small_model_stand_in(gpt2, no_network):
    done = gpt2()
    assert done.exit_code == 0, done.output
    assert "gpt2 cannot be downloaded: is there a network?" in done.output.splitlines()[0]
    assert "GPT-2: the kit's small trained model" in done.output
    assert "The same, trained without its mask:" in done.output


def test_no_network_for_a_model_that_is_named_is_told(gpt2, no_network):
    refused(gpt2("--weights", "distilgpt2"), "distilgpt2 cannot be downloaded: without a network")


class Reply:
    """What the hub's errors want to know of a reply."""

    def __init__(self):
        self.headers = {}
        self.request = None
        self.status_code = 404


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (errors.RepositoryNotFoundError, "no model of that name on the hub: check the name"),
        (errors.GatedRepoError, "is not open to everybody: name another model"),
        (errors.RemoteEntryNotFoundError, "lacks one of model.safetensors, config.json"),
        (errors.HfHubHTTPError, "cannot be downloaded: without a network, name a folder"),
    ],
)
def test_refusal_of_the_hub_is_told(gpt2, monkeypatch, kind, said):
    def refuse(_, __, local_files_only=False):
        if local_files_only:
            raise errors.LocalEntryNotFoundError("not here")
        raise kind("no", response=Reply())

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    monkeypatch.setattr(weights, "_ask_once", lambda name: None)
    refused(gpt2("--weights", "some/model"), said)


def test_model_from_the_hub_is_the_one_in_its_cache(gpt2, made, monkeypatch):
    def cached(name, file, local_files_only=False):
        assert (name, local_files_only) == ("openai-community/gpt2", True)
        return str(made / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", cached)
    done = gpt2()
    assert done.exit_code == 0, done.output
    assert done.output.startswith("GPT-2: openai-community/gpt2\n121,776 parameters: 3 layers of 4")


def test_run_says_all_there_is_to_say(gpt2, made):
    done = gpt2("--weights", made / weights.WEIGHTS, "--prompt", "The mask")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("GPT-2: the weights in")
    assert "The code that runs it, all of it yours:" in lines
    assert " + 11  Block                yours" in lines
    assert "Against transformers, the same weights, 32 tokens, float32:" in lines
    assert sum("agrees" in line for line in lines) == 4
    assert any(line.startswith("The mask") for line in lines)
    assert any(line.startswith("With the cache: 6 tokens") for line in lines)
    assert "the same tokens." in done.output.replace("\n", " ")


def test_run_without_the_cache_in_float64(gpt2):
    done = gpt2("--tiny", "--no-cache", "--float64", "--temperature", "0")
    assert done.exit_code == 0, done.output
    assert "32 tokens, float64:" in done.output
    assert "Without the cache: 6 tokens" in done.output
    assert "With the cache" not in done.output


def test_short_context_leaves_no_room_for_a_greedy_text(gpt2, tmp_path):
    size = replace(tiny.TINY, n_layers=1, n_heads=1, d_model=4, d_ff=16, t_max=5)
    tiny.make(tmp_path, size)
    done = gpt2("--weights", tmp_path, "--prompt", "The", tokens=1)
    assert done.exit_code == 0, done.output
    assert "Against transformers, the same weights, 5 tokens" in done.output
    assert "With the cache: 1 token, the first after" in done.output


def test_wrong_step_writes_nothing_and_ends_with_1(gpt2, tmp_path):
    mine = shutil.copytree(SOLUTIONS, tmp_path / "mine")
    path = mine / "step12_decoder.py"
    path.write_text(
        path.read_text("utf-8").replace("block, n_heads, mask)", "block, n_heads, None)")
    )
    (mine / "step09_heads.py").unlink()
    done = gpt2("--tiny", submission=mine)
    assert done.exit_code == 1
    assert " x decoder_logits: differs by up to" in done.output
    assert " -  9  Heads                the solution's (you have no step09_heads.py)" in done.output
    assert "The code that runs it, 10 steps yours:" in done.output
    assert "Step 12 by itself makes them differ: `make check STEP=12`." in done.output
    assert "With the cache" not in done.output


def test_code_that_breaks_while_it_writes_is_told(gpt2, tmp_path):
    mine = shutil.copytree(SOLUTIONS, tmp_path / "mine")
    path = mine / "step08_generation.py"
    text = path.read_text("utf-8")
    path.write_text(
        text.replace("    # float64, whatever came in", "    raise KeyError('x')\n    #", 1)
    )
    refused(gpt2("--tiny", submission=mine), "sample_token raised KeyError: 'x'")


def test_interrupted_text_ends_cleanly(gpt2, monkeypatch):
    original = writing.Timed.note

    def note(self, token, since):
        original(self, token, since)
        if len(self.ids) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(writing.Timed, "note", note)
    refused(gpt2("--tiny"), "nopeek: stopped")


def test_text_is_wrapped_between_words():
    printer = Printer(io.StringIO())
    printer.terminal, printer.width = True, 20
    run = models.DemoRun(None, printer, np.float32)
    for piece in ("the fox has", " a", " key", " .", " the", " frog", " lo", "oks", "\n"):
        run._put(piece)
    assert printer.file.getvalue() == "the fox has a key .\nthe frog looks\n"


def test_nothing_moves_the_cursor(gpt2):
    done = gpt2("--tiny", "--prompt", "a\x1b[31m\rb")
    assert "a\ufffd[31m\ufffdb" in done.output


def test_command_is_quiet_on_the_error_stream(made, tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "grader", "gpt2", "--tiny", "--tokens", "8"),
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


def test_cache_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    folder = tiny.make_cached()
    assert weights.read(folder / weights.WEIGHTS).parameters == 121_776
    shutil.rmtree(folder)


def test_small_model_writes_readable_words_and_nonsense_without_its_mask(gpt2):
    done = gpt2("--small", "--temperature", "0", tokens=20)
    assert done.exit_code == 0, done.output
    assert "decoder_logits: agrees at 32 positions" in done.output
    honest, _, cheat = done.output.partition("The same, trained without its mask:")
    begun = "the owl looks for the lamp . the fox has seen the "
    written, babble = (text.split(begun)[1].split("\n")[0].split() for text in (honest, cheat))
    assert written[0] == "lamp"
    assert babble[0] != "lamp"
    assert len(written) == len(babble) == 20


def test_small_model_writes_as_much_as_there_is_room_for(gpt2):
    done = gpt2("--small", "--prompt", "the fox has a key . " * 4, tokens=None)
    assert done.exit_code == 0, done.output
    assert "With the cache: 8 tokens" in done.output


def test_small_model_says_which_words_it_does_not_know(gpt2):
    done = gpt2("--small", "--prompt", "Once upon the tree ?", tokens=2)
    assert 'It does not know "Once" and "upon", and reads "?" for each.' in said(done)
    assert "Its words: . ? a and ask at ball" in said(done)
    assert "does not know" not in said(gpt2("--small", "--prompt", "The tree ?", tokens=2))


def test_small_model_is_one_of_its_own(gpt2):
    done = gpt2("--small", "--tiny")
    assert done.exit_code == 2
    assert "--small is a model of its own" in done.output
