"""`train`, as it is called: it learns, keeps its weights, goes on from them, and can cheat."""

import re
import shutil
from dataclasses import replace

import pytest

from grader.cli.hosts import open_host
from grader.demos import training
from grader.demos.submission_worker import NotReady, gather, worker_with
from grader.demos.weights import About
from grader.intake.submission import read_folder
from grader.steps.registry import load
from tests.conftest import ROOT
from tests.support.commands import run
from tests.support.stubs import write_stubs

TINY = ["--layers", "1", "--heads", "2", "--d-model", "8", "--length", "8", "--batch", "4"]


def trained(folder, *options):
    return called(folder, "train", *TINY, "--out", "kept", *options)


def called(folder, *arguments):
    """A command's status, and what it said in one line."""
    done = run(*arguments, cwd=folder)
    return done.returncode, " ".join(done.stdout.split())


def losses(text):
    return [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", text)]


def test_training_learns_keeps_its_weights_and_goes_on(tmp_path):
    options = ["--submission", str(ROOT / "solutions"), "--lr", "0.02"]
    code, first = trained(tmp_path, "--steps", "60", *options)
    assert code == 0, first
    assert losses(first)[-1] < losses(first)[0] - 0.3
    assert "it writes: " in first
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept == {"model.safetensors", "config.json", "tokenizer.json"}
    code, second = trained(tmp_path, "--steps", "1", *options)
    assert code == 0, second
    assert "continuing from kept/, after 60 steps, with a new optimiser" in second
    assert losses(second)[0] < losses(first)[0] - 0.3
    code, other = trained(tmp_path, "--steps", "1", "--length", "9", *options)
    assert code == 2, other
    assert "name another --out" in other


def test_unwritten_steps_are_the_solutions_and_it_is_said(tmp_path):
    submission = str(write_stubs(tmp_path / "exercises"))
    code, text = trained(tmp_path, "--steps", "1", "--submission", submission)
    assert code == 0, text
    assert "not written yet, so the solutions': step01_projections" in text


def test_cheating_decoder_is_trained_beside_the_honest_one(tmp_path):
    """They start alike and see the same batches; only what may be seen differs."""
    options = ["--steps", "20", "--lr", "0.02", "--submission", str(ROOT / "solutions")]
    code, text = trained(tmp_path, *options, "--cheat", "--html", "page.html")
    assert code == 0, text
    pairs = re.findall(r"loss (\S+) peeking loss (\S+)", text)
    assert len(pairs) == 2
    assert float(pairs[0][0]) > 2
    assert pairs[-1][0] != pairs[-1][1]
    assert " its loss where it cannot look ahead: " in text
    assert " x peeking, when it must write " in text
    assert (tmp_path / "kept" / "model.safetensors").is_file()
    assert (tmp_path / "kept" / "cheat" / "model.safetensors").is_file()
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<path d=") > 3
    for told in ("guessing", "your decoder, masked", "peeking, when it must write"):
        assert f">{told}</text>" in page
    assert "<script" not in page


def test_decoder_that_makes_its_mask_otherwise_cannot_be_trained_without(tmp_path):
    mine = shutil.copytree(ROOT / "solutions", tmp_path / "mine")
    for name in ("step12_decoder.py", "step18_decoder_gradient.py"):
        with (mine / name).open("a", encoding="utf-8") as file:
            file.write("\n\ndef causal_mask(t):\n    return np.tri(t, dtype=bool)\n")
    code, text = trained(tmp_path, "--steps", "1", "--cheat", "--submission", str(mine))
    assert code == 0, text  # the solutions have the switch

    registry = load()
    _, own = gather(registry, read_folder(mine, registry), {}, training.WANTED)
    home = registry.homes["causal_mask"].id
    mask, place = own.sources[home]
    peeking = replace(own, sources={**own.sources, home: (mask + training.PEEKING, place)})
    characters, text = training.prepare(training.stories(0), 8)
    about = About(1, 2, 8, 8, characters)
    params = training.first_params(about, 0)
    with (
        open_host(registry) as host,
        pytest.raises(NotReady, match="call causal_mask in steps 12 and 18"),
        worker_with(host, own, "") as one,
        worker_with(host, peeking, "") as other,
    ):
        training.check_switch([one, other], text, params, about)


NO_NUMBER = """
_right, _count = train_step, []
def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    _count.append(1)
    loss, params, state = _right(tokens, params, state, n_heads, lr, max_norm)
    if len(_count) == 3:
        params["blocks"][0]["attention"]["w_v"] *= float("nan")
    return loss, params, state
"""


def test_loss_that_is_no_number_stops_the_training(tmp_path):
    """The step is named, and the weights before it are not touched."""
    mine = shutil.copytree(ROOT / "solutions", tmp_path / "mine")
    with (mine / "step19_training.py").open("a", encoding="utf-8") as file:
        file.write(NO_NUMBER)
    code, text = trained(tmp_path, "--steps", "9", "--submission", str(mine))
    assert code == 2, text
    assert "nopeek: The loss of step 4 is not a finite number. Look at the gradients:" in text
    assert "Traceback" not in text
    assert not (tmp_path / "kept").exists()


@pytest.mark.long
def test_trained_weights_run_in_gpt2(tmp_path):
    code, text = trained(tmp_path, "--steps", "1", "--submission", str(ROOT / "solutions"))
    assert code == 0, text
    for command, said in (
        ("gpt2", "decoder_logits: agrees at 8 positions"),
        ("llama", "describes a model of type 'gpt2'"),
    ):
        code, text = called(tmp_path, command, "--weights", "kept", "--prompt", "a")
        assert said in text
        assert "Traceback" not in text
