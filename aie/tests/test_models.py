"""Networks of the kinds that are asked for, small: whole and with an operator on libtorch."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch
from networks import encoders, recurrent, vision

import torch_aie
from aie.tests.scripts import engines_of, traced
from torch_aie import PrecisionPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    # Sizes become constants in traced modules, which is what is wanted here.
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]

Inputs = tuple[torch.Tensor, ...]
TOLERANCE = {PrecisionPolicy.FP32: 1e-4, PrecisionPolicy.FP16: 2e-2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A network, and the operator that is left to libtorch."""

    build: Callable[[], tuple[nn.Module, Inputs]]
    forced: str


def bert() -> tuple[nn.Module, Inputs]:
    mask = torch.ones(1, 12, dtype=torch.int64)
    mask[:, 9:] = 0
    tokens = torch.randint(0, 50, (1, 12))
    return encoders.BertEncoder(50, 32, 2, 2).eval(), (tokens, mask, torch.zeros_like(tokens))


def vit() -> tuple[nn.Module, Inputs]:
    return encoders.VisionTransformer(32, 24, 3, 2).eval(), (torch.rand(1, 3, 32, 32),)


def lstm() -> tuple[nn.Module, Inputs]:
    return recurrent.LstmTagger(50, 16, 16).eval(), (torch.randint(0, 50, (2, 6)),)


CASES = {
    "resnet18": Case(build=lambda: vision.resnet18(64, 8), forced="aten::max_pool2d"),
    "resnet50": Case(build=lambda: vision.resnet50(64, 8), forced="aten::max_pool2d"),
    "unet": Case(build=lambda: vision.unet(32, 8), forced="aten::cat"),
    "yolo": Case(build=lambda: vision.yolo(64, 8, 4), forced="aten::sigmoid"),
    "bert": Case(build=bert, forced="aten::gelu"),
    "vit": Case(build=vit, forced="aten::layer_norm"),
    "lstm": Case(build=lstm, forced="aten::embedding"),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def built(case: Case) -> tuple[torch.jit.ScriptModule, Inputs]:
    torch.manual_seed(0)
    module, inputs = case.build()
    return traced(module, inputs), inputs


@pytest.mark.parametrize("policy", TOLERANCE, ids=lambda policy: policy.name)
def test_results_equal_torchscripts(case: Case, policy: PrecisionPolicy) -> None:
    module, inputs = built(case)
    expected = module(*inputs)
    whole = torch_aie.compile(
        module,
        inputs=inputs,
        precision_policy=policy,
        truncate_long_and_double=False,
        require_full_compilation=True,
    )
    assert engines_of(whole) == 1
    for _ in range(2):  # the first run records what memory it takes, the second runs by that plan
        torch.testing.assert_close(whole(*inputs), expected, atol=TOLERANCE[policy], rtol=0)
    parted = torch_aie.compile(
        module,
        inputs=inputs,
        precision_policy=policy,
        truncate_long_and_double=False,
        torch_executed_ops=[case.forced],
    )
    assert case.forced in str(parted.graph)
    torch.testing.assert_close(parted(*inputs), expected, atol=TOLERANCE[policy], rtol=0)


def test_saved_engine_gives_the_same(case: Case) -> None:
    """Weights are kept in the layouts of kernels only: saving makes plain ones of them again."""
    module, inputs = built(case)
    compiled = torch_aie.compile(module, inputs=inputs, precision_policy=PrecisionPolicy.FP32)
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    file.seek(0)
    loaded = torch.jit.load(file)  # type: ignore[no-untyped-call]  # torch's
    torch.testing.assert_close(loaded(*inputs), compiled(*inputs), atol=0, rtol=0)
