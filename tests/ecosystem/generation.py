"""Language models generate the tokens that they generate on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.ecosystem.models import Model, make, models

pytestmark = pytest.mark.filterwarnings("default")  # the libraries use what others deprecate

NEW_TOKENS = 6

MODES: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},  # with kept keys and values
    "no-cache": {
        "do_sample": False,
        "use_cache": False,
    },  # attention over the whole text at each step
    "beams": {"do_sample": False, "num_beams": 3},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", models("transformers", "causal", "seq2seq"), ids=str)
def test_generates_the_same_tokens(model: Model, mode: str) -> None:
    subject = make(model)
    generate = getattr(subject.module, "generate", None)
    if generate is None or not subject.module.can_generate():  # type: ignore[operator]
        pytest.skip("the model has no `generate`")
    settings = {**MODES[mode], "min_new_tokens": NEW_TOKENS, "max_new_tokens": NEW_TOKENS}
    text = subject.inputs["input_ids"]
    expected = generate(text, **settings)
    got = subject.to_npu().module.generate(text.npu(), **settings)  # type: ignore[operator]
    torch.testing.assert_close(got.cpu(), expected)
