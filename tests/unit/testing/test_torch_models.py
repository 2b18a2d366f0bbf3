"""What `nopeek.testing` says of torch's and transformers' own models, and of the guide's."""

import re
import warnings

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from nopeek.testing import (
    assert_causal,
    assert_no_gradient_from_future,
    assert_prefix_invariant,
    assert_rows_independent,
    leak_map,
)
from tests.conftest import ROOT
from tests.support import evidence

IDS = np.array([[3, 1, 4, 1, 5, 2], [2, 4, 1, 3, 5, 1]])
SIZES = {"vocab_size": 7, "bos_token_id": 1, "eos_token_id": 2}


class Decoder(nn.Module):
    """Two layers of torch's own attention; `open` names the one without a mask."""

    def __init__(self, open=None):
        super().__init__()
        self.open, self.embedding = open, nn.Embedding(7, 8)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(8, 2, 16, batch_first=True) for _ in range(2)
        )

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[-1])
        memory = torch.zeros(len(x), 1, 8)
        for number, layer in enumerate(self.layers):
            x = layer(x, memory, tgt_mask=None if number == self.open else mask)
        return x


def gpt2():
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_positions=16, n_embd=8, n_layer=2, n_head=2, **SIZES)
    )


def llama():
    config = transformers.LlamaConfig(
        hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, **SIZES
    )
    return transformers.LlamaForCausalLM(config)


@pytest.mark.parametrize("make", [Decoder, gpt2, llama])
def test_models_of_others_are_causal(make):
    model = make().train()
    laws = (assert_prefix_invariant, assert_rows_independent, assert_no_gradient_from_future)
    for check in (assert_causal, *laws):
        check(model, IDS)
    assert_causal(model, IDS.tolist())
    assert model.training
    assert all(weight.grad is None for weight in model.parameters())


def test_a_layer_without_a_mask_is_found_by_values_and_by_gradients():
    with pytest.raises(AssertionError, match="Every position sees every later one"):
        assert_causal(Decoder(open=1), IDS)
    with pytest.raises(AssertionError, match="flows from output 0 back to input 1"):
        assert_no_gradient_from_future(Decoder(open=0), IDS)
    assert len(leak_map(Decoder(open=0), torch.as_tensor(IDS)).leaks) == 15


def test_gradients_at_vectors():
    x = torch.randn(5, 4)
    assert_no_gradient_from_future(lambda x: x.cumsum(-2), x)
    with pytest.raises(AssertionError, match="back to input 1"):
        assert_no_gradient_from_future(lambda x: x - x.mean(-2, keepdim=True), x)
    with pytest.raises(AssertionError, match="no tensor that a gradient comes from"):
        assert_no_gradient_from_future(lambda x: x.detach(), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_tolerances_follow_the_dtype(dtype):
    def attend(x, *, causal=True):
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=causal)

    x = torch.randn(2, 6, 4, dtype=dtype)
    assert_causal(attend, x)
    assert_prefix_invariant(attend, x)
    with pytest.raises(AssertionError, match="must not"):
        assert_causal(lambda x: attend(x, causal=False), x)


def test_dropout_left_on_is_named_and_not_called_a_leak():
    model = Decoder().train()
    with pytest.raises(AssertionError, match="is dropout left on"):
        assert_causal(lambda tokens: model(torch.as_tensor(tokens)), IDS)


def test_the_guides_examples_run(tmp_path, monkeypatch, capsys):
    text = evidence.PAGE.read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    said = re.search("^Small: .*$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    for program in programs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of transformers' own
            exec(compile(program, "testing-your-model.md", "exec"), {"__name__": "guide"})
    assert (tmp_path / "leaks.svg").exists()
    assert said[0] in capsys.readouterr().out
    assert len(programs) == 3


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_table_of_evidence_is_up_to_date(capsys):
    lines = evidence.table()
    assert "\n".join(lines) in (ROOT / "docs/testing-your-model.md").read_text(encoding="utf-8")
    found = {line.split("`")[1]: line.split("|")[2:5] for line in lines[2:]}
    leaky = lines[0].split("|")[2].split()[1]
    assert found["assert_prefix_invariant"][0].strip() == leaky
    assert {int(line[2]) for line in found.values()} == {0}
