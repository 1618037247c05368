"""Compiled models answer what they answer eagerly, or the twin warns with the operator's name.

npugraph_ex's in-place pass can make a model wrong (docs/differences.md): where the twin warns of
it, the result is not compared. npugraph_ex and TorchAir cannot be used in one process.
"""

from __future__ import annotations

import warnings

import pytest
import torch
import torch_npu
import torchair

from opwright.graph_report.rewrites import InPlaceRewriteWarning
from tests.ecosystem.comparison import assert_close, results_of
from tests.ecosystem.models import Model, Subject, make
from tests.ecosystem.tolerances import RESULT_ERROR

pytestmark = pytest.mark.filterwarnings("default")  # the libraries use what others deprecate

MODELS = [
    *(
        Model("transformers", "causal", name)
        for name in ("llama", "qwen3", "qwen3_moe", "gpt2", "mistral", "gemma", "phi", "opt")
    ),
    *(Model("transformers", "masked", name) for name in ("bert", "roberta", "distilbert")),
    Model("transformers", "seq2seq", "t5"),
    Model("transformers", "seq2seq", "bart"),
    *(Model("transformers", "image", name) for name in ("vit", "resnet", "mobilenet_v2")),
    Model("timm", "any-size", "resnet18"),
    Model("timm", "small-images", "deit_tiny_patch16_224"),
    Model("diffusers", "network", "UNet2DConditionModel"),
    Model("diffusers", "network", "DiTTransformer2DModel"),
]


@pytest.mark.isolated
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_captured_graph_gives_the_eager_result(model: Model) -> None:
    assert_same_compiled(make(model).to_npu(), "npugraph_ex")


@pytest.mark.isolated
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_max_autotune_gives_the_eager_result(model: Model) -> None:
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    assert_same_compiled(make(model).to_npu(), backend)


def assert_same_compiled(subject: Subject, backend: object) -> None:
    """Assert that two calls of the compiled model give what an eager one gives."""
    with torch.no_grad():
        expected = {name: each.cpu() for name, each in results_of(subject(), "npu").items()}
        subject.module.compile(backend=backend, dynamic=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = [results_of(subject(), "npu") for _ in range(2)]
            torch_npu.npu.synchronize()
    if any(issubclass(each.category, InPlaceRewriteWarning) for each in caught):
        pytest.skip(
            "npugraph_ex's in-place pass rewrote the graph, and the twin warned of it by name"
        )
    for got in results:
        assert got.keys() == expected.keys()
        for name, tensor in expected.items():
            assert_close(got[name], tensor, RESULT_ERROR, name)
