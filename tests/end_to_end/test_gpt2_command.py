"""`python -m grader gpt2` and `llama` as users have them: one sentence for whatever is wrong."""

import io
import itertools
import json
import os
import shutil
import socket

import httpx
import huggingface_hub
import pytest
from click.testing import CliRunner
from huggingface_hub import errors
from safetensors.numpy import load_file, save_file

from grader.cli import models
from grader.cli.main import cli
from grader.demos import weights
from grader.demos.gpt2 import running
from grader.demos.gpt2.family import FAMILIES, GPT2
from grader.report.text.terminal import Printer
from tests.conftest import ROOT
from tests.support import gpt2s
from tests.support.commands import run_strictly

SOLUTIONS = ROOT / "solutions"
TINY, SMALL = ("--weights", "tiny"), ("--weights", "small")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders of tiny models by family; for reading."""
    folder = tmp_path_factory.mktemp("made")
    return {name: gpt2s.write(folder / name, family) for name, family in FAMILIES.items()}


def run(name, *arguments, submission=SOLUTIONS, tokens=6):
    """The command in this process, because importing torch takes seconds."""
    given = [*map(str, arguments), "--submission", str(submission)]
    given += ["--tokens", str(tokens)] if tokens else []
    return CliRunner().invoke(cli, [name, *given])


def written(name, *arguments, **given):
    """What a command prints that ends well."""
    done = run(name, *arguments, **given)
    assert done.exit_code == 0, done.output
    return done.output


def settings(**changes):
    """Return what changes a folder's config.json."""

    def spoil(folder):
        path = folder / weights.CONFIG
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return spoil


def tensors(change):
    def spoil(folder):
        path = folder / weights.WEIGHTS
        found = load_file(path)
        change(found)
        save_file(found, path)

    return spoil


def writes(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def removes(name):
    return lambda folder: (folder / name).unlink()


def own_head(found):
    found["lm_head.weight"] = found["transformer.wte.weight"] + 1


NOT_JSON = "config.json cannot be read as JSON: get it again"
UNUSABLE = "that can be made: get it again, with the weights"
UNKNOWN = "which the steps do not compute: name another model"
OWN_HEAD = "has an output head of its own, but it should be the embedding: name another model"
# What is done to the folder of each family, and what is said.
BAD = {
    "gpt2": {
        "another architecture": (
            settings(model_type="llama"),
            "config.json describes a model of type 'llama', not 'gpt2': name weights of a GPT-2",
        ),
        "a missing tensor": (
            tensors(lambda found: found.pop("transformer.h.1.ln_2.bias")),
            "h.1.ln_2.bias is absent, expected (48,): get both again",
        ),
        "a million layers": (
            settings(n_layer=10**6),
            "tensors, but config.json asks for 1000000 layers: get both again",
        ),
        "a long text for a setting": (
            settings(activation_function="gelu" * 10**4),
            "more characters), which the steps do not compute",
        ),
        "a configuration of many megabytes": (settings(more="a" * 2**24), NOT_JSON),
        "as many features as nothing holds": (settings(n_embd=10**12), "config.json"),
        "a truth for a size": (settings(n_layer=True), f"no GPT-2 {UNUSABLE}"),
        "a configuration that is nested deeply": (writes(weights.CONFIG, b"[" * 10**5), NOT_JSON),
        "wrong shapes": (settings(vocab_size=500), "wte.weight is (512, 48), expected (500, 48)"),
        "a head of its own": (tensors(own_head), OWN_HEAD),
        "a truncated download": (
            lambda folder: os.truncate(folder / weights.WEIGHTS, 9**5),
            "is not a whole safetensors file (an interrupted download?): get it again",
        ),
        "no weights": (removes(weights.WEIGHTS), "there is no model.safetensors in"),
        "no configuration": (
            removes(weights.CONFIG),
            "it says how many heads there are, which the weights do not",
        ),
        "no tokenizer": (removes(weights.TOKENIZER), "there is no tokenizer.json in"),
        "a broken tokenizer": (
            writes(weights.TOKENIZER, b"{}"),
            "tokenizer.json is not a tokenizer: get it again",
        ),
    },
    "llama": {
        "scaled angles": (
            settings(rope_scaling={"type": "linear", "factor": 2.0}),
            f"has rope_type = 'linear', {UNKNOWN}",
        ),
        "odd heads": (settings(head_dim=15), f"no Llama {UNUSABLE}"),
        "heads that do not share": (settings(num_key_value_heads=3), f"no Llama {UNUSABLE}"),
        "a base beyond all numbers": (settings(rope_theta=10**400), f"no Llama {UNUSABLE}"),
        "a head that should be tied": (settings(tie_word_embeddings=True), OWN_HEAD),
    },
}


def refused(done, said):
    """Return whether the command ended with one sentence and no traceback."""
    assert isinstance(done.exception, SystemExit), done.exc_info
    assert done.exit_code == 2
    assert said in done.output.splitlines()[-1]
    assert done.output.splitlines()[-1].startswith("nopeek: ")
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("name", "setting"),
    [(name, setting) for name, family in FAMILIES.items() for setting in family.known],
)
def test_setting_that_the_steps_do_not_compute_is_refused(made, tmp_path, name, setting):
    folder = shutil.copytree(made[name], tmp_path / "model")
    angles = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    layers = ["full_attention", "sliding_attention", "full_attention"]
    others = {"layer_types": layers, "partial_rotary_factor": 0.5}
    others |= {"layer_norm_epsilon": 1e-6, "sliding_window": 64, "quantization_config": {"bits": 4}}
    others |= dict.fromkeys(("attention_bias", "mlp_bias", "add_cross_attention"), True)
    others |= {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}
    change = {"rope_parameters": angles} if setting == "rope_type" else None
    settings(**(change or {setting: others.get(setting, "gelu")}))(folder)
    done = run(name, "--weights", folder)
    refused(done, f"config.json has {setting} = ")
    refused(done, f", {UNKNOWN}")


@pytest.mark.parametrize(("name", "which"), [(name, which) for name in BAD for which in BAD[name]])
def test_bad_weights_are_refused_in_one_sentence(made, tmp_path, name, which):
    spoil, said = BAD[name][which]
    folder = shutil.copytree(made[name], tmp_path / "model")
    spoil(folder)
    refused(run(name, "--weights", folder), said)


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_configuration_does_not_choose_code_from_the_hub(made, tmp_path, key):
    folder = shutil.copytree(made["gpt2"], tmp_path / "model")
    settings(**{key: "somebody/kernels"})(folder)
    written("gpt2", "--weights", folder, tokens=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*TINY, "--prompt", " \n"], "the prompt is empty: begin a text with --prompt"),
        ([*TINY, "--prompt", "words " * 300], "reads no more than 256, what it writes included"),
        ([*TINY, "--prompt", "to", "--tokens", "256"], "ask for --tokens 255 at most"),
        (["--weights", "no/such/path"], "no folder or file no/such/path: name one, or a model"),
        (["--weights", "two words"], "no model of that name on the hub"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(arguments, said):
    refused(run("gpt2", *arguments, tokens=None), said)


def test_submission_is_looked_for_before_anything_is_downloaded(monkeypatch):
    monkeypatch.setattr(weights, "locate", lambda name: pytest.fail(f"{name} is downloaded"))
    refused(run("gpt2", "--weights", "a/model", submission="nowhere"), "there is no folder")


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.mark.parametrize(
    ("name", "model", "other"),
    [
        ("gpt2", "gpt2", "GPT-2: the kit's small trained model"),
        ("llama", "SmolLM2-135M", "Llama: a tiny one made here, its weights random"),
    ],
)
def test_no_network_lets_another_model_stand_in(no_network, name, model, other):
    output = written(name)
    assert f"{model} cannot be downloaded: is there a network?" in output.splitlines()[0]
    assert other in output
    assert ("The same, trained without its mask:" in output) is (name == "gpt2")


def test_no_network_for_a_model_that_is_named_is_told(no_network):
    told = "distilgpt2 cannot be downloaded: without a network"
    refused(run("gpt2", "--weights", "distilgpt2"), told)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (errors.GatedRepoError, "no model of that name on the hub that is open to everybody"),
        (errors.HfHubHTTPError, "cannot be downloaded: without a network, name a folder"),
    ],
)
def test_refusal_of_the_hub_is_told(monkeypatch, kind, said):
    def refuse(*given, **named):
        raise kind("no", response=httpx.Response(404, request=httpx.Request("GET", "http://hub")))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    refused(run("gpt2", "--weights", "some/model"), said)


def test_model_from_the_hub_is_the_one_in_its_cache(made, monkeypatch, tmp_path):
    folders = {"openai-community/gpt2": made["gpt2"], "some/pictures": tmp_path}
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda name, allow_patterns: str(folders[name])
    )
    head = "GPT-2: openai-community/gpt2\n121,776 parameters: 3 layers of 4 heads"
    assert written("gpt2").startswith(head)
    told = "has model.safetensors, config.json, tokenizer.json"
    refused(run("gpt2", "--weights", "some/pictures"), told)


@pytest.mark.parametrize(
    ("name", "title", "step"),
    [("gpt2", "GPT-2", " + 11  Block "), ("llama", "Llama", " + 25  Llama ")],
)
def test_run_says_all_there_is_to_say(made, name, title, step):
    output = written(name, "--weights", made[name] / weights.WEIGHTS, "--prompt", "The mask")
    lines = output.splitlines()
    assert lines[0].startswith(f"{title}: the weights in")
    assert "The code that runs it, all of it yours:" in lines
    assert any(line.startswith(step) and line.endswith(" yours") for line in lines)
    assert "Against transformers, the same weights, 32 tokens:" in lines
    assert sum("agrees" in line for line in lines) == 3
    assert any(line.startswith("The mask") for line in lines)
    assert any(line.startswith("With the cache: 6 tokens") for line in lines)
    assert "the same tokens." in " ".join(output.split())


def test_short_context_leaves_no_room_for_a_greedy_text(tmp_path):
    folder = gpt2s.write(tmp_path, GPT2, n_layer=1, n_head=1, n_embd=4, n_positions=5)
    output = written("gpt2", "--weights", folder, "--prompt", "The", tokens=1)
    assert "Against transformers, the same weights, 5 tokens" in output
    assert "With the cache: 1 token, the first after" in output


def test_wrong_step_writes_nothing_and_ends_with_1(tmp_path):
    mine = shutil.copytree(SOLUTIONS, tmp_path / "mine")
    path = mine / "step12_decoder.py"
    text = path.read_text("utf-8")
    path.write_text(text.replace("block, n_heads, mask)", "block, n_heads, None)"))
    (mine / "step09_heads.py").unlink()
    done = run("gpt2", *TINY, submission=mine)
    assert done.exit_code == 1
    assert " x decoder_logits: differs by up to" in done.output
    assert " -  9  Heads                the solution's (you have no step09_heads.py)" in done.output
    assert "The code that runs it, 10 steps yours:" in done.output
    told = " ".join(done.output.split())
    assert "nothing is written. `make check` looks at each step alone." in told
    assert "With the cache" not in done.output


def test_code_that_breaks_while_it_writes_is_told(tmp_path):
    mine = shutil.copytree(SOLUTIONS, tmp_path / "mine")
    with (mine / "step08_generation.py").open("a") as file:
        file.write("\n\ndef sample_token(*given, **named):\n    raise KeyError('x')\n")
    refused(run("gpt2", *TINY, submission=mine), "sample_token raised KeyError in line")


def test_interrupted_text_ends_cleanly(monkeypatch):
    original = running.OwnDecoder.write

    def write(self, *given, **named):
        yield from itertools.islice(original(self, *given, **named), 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(running.OwnDecoder, "write", write)
    refused(run("gpt2", *TINY), "nopeek: stopped")


def test_text_is_wrapped_between_words():
    run = models.DemoRun("gpt2", {})
    run.printer = Printer(io.StringIO())
    run.printer.terminal, run.printer.width = True, 20
    for piece in ("the fox has", " a", " key", " .", " the", " frog", " lo", "oks", "\n"):
        run._put(piece)
    assert run.printer.file.getvalue() == "the fox has a key .\nthe frog looks\n"


def test_nothing_moves_the_cursor():
    assert r"a\x1b[31m\rb" in written("gpt2", *TINY, "--prompt", "a\x1b[31m\rb")


@pytest.mark.long
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_command_is_quiet_on_the_error_stream(tmp_path, name):
    words = (name, *TINY, "--tokens", "8", "--submission", SOLUTIONS)
    done = run_strictly(*words, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr, done.stdout.isascii()) == (0, "", True)
    assert max(map(len, done.stdout.splitlines()[:20])) <= 80


def test_small_model_writes_readable_words_and_nonsense_without_its_mask():
    output = written("gpt2", *SMALL, "--temperature", "0", tokens=20)
    assert "decoder_logits: agrees at 32 positions" in output
    honest, _, cheat = output.partition("The same, trained without its mask:")
    begun = "the owl looks for the lamp . the fox has seen the "
    story, babble = (text.split(begun)[1].split("\n")[0].split() for text in (honest, cheat))
    assert story[0] == "lamp"
    assert babble[0] != "lamp"
    assert len(story) == len(babble) == 20


def test_small_model_writes_as_much_as_there_is_room_for():
    output = written("gpt2", *SMALL, "--prompt", "the fox has a key . " * 4, tokens=None)
    assert "With the cache: 8 tokens" in output
    assert "does not know" not in output


def test_small_model_says_which_words_it_does_not_know():
    output = " ".join(written("gpt2", *SMALL, "--prompt", "Once upon the tree ?", tokens=2).split())
    assert 'It does not know "Once" and "upon", and reads "?" for each.' in output
    assert "Its words: . ? a and ask at ball" in output
