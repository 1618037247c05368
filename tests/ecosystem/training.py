"""Training loops on the NPU have the losses that they have on the CPU, step by step."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from tests.ecosystem.comparison import results_of
from tests.ecosystem.models import Model, Subject, make
from tests.ecosystem.tolerances import HALF_LOSS_ERROR, LOSS_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("default")  # the libraries use what others deprecate

STEPS = 6
RATE = 1e-3
MODELS = (
    Model("transformers", "causal", "llama"),
    Model("transformers", "masked", "bert"),
    Model("transformers", "seq2seq", "t5"),
    Model("transformers", "image", "vit"),
    Model("timm", "any-size", "resnet18"),
    Model("diffusers", "network", "UNet2DConditionModel"),
)


@dataclass(frozen=True, kw_only=True)
class Loop:
    """How a loop trains; `half` is the dtype of autocast."""

    optimizer: Callable[[Any], torch.optim.Optimizer]
    half: torch.dtype | None = None
    scales: bool = False
    clips: bool = False
    decays: bool = False
    averages: bool = False
    accumulates: int = 1


LOOPS = {
    "sgd": Loop(optimizer=lambda p: torch.optim.SGD(p, RATE, momentum=0.9, nesterov=True)),
    "adamw-clipped-cosine": Loop(
        optimizer=lambda p: torch.optim.AdamW(p, RATE), clips=True, decays=True
    ),
    "adamw-foreach": Loop(optimizer=lambda p: torch.optim.AdamW(p, RATE, foreach=True)),
    "adafactor": Loop(optimizer=lambda p: torch.optim.Adafactor(p, RATE)),
    "accumulated": Loop(optimizer=lambda p: torch.optim.Adam(p, RATE), accumulates=3),
    "averaged": Loop(optimizer=lambda p: torch.optim.RAdam(p, RATE), averages=True),
    "bfloat16": Loop(optimizer=lambda p: torch.optim.AdamW(p, RATE), half=torch.bfloat16),
    "float16-scaled": Loop(
        optimizer=lambda p: torch.optim.SGD(p, RATE), half=torch.float16, scales=True, clips=True
    ),
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_losses_are_those_of_the_cpu(model: Model, loop: str) -> None:
    subject = make(model)
    error = LOSS_ERROR if LOOPS[loop].half is None else HALF_LOSS_ERROR
    there = subject.to_npu()
    expected = losses(subject, LOOPS[loop], "cpu")
    assert len(expected) == STEPS + LOOPS[loop].averages
    assert expected[-1] < expected[0], "the loop does not learn"
    assert losses(there, LOOPS[loop], "npu") == pytest.approx(expected, rel=error)


def losses(subject: Subject, loop: Loop, device: str) -> list[float]:
    """Train; return the loss of each step, and of the averaged model at the end if there is one."""
    module = subject.module
    for each in module.modules():  # dropout draws other numbers on each device: it stays off
        each.train(isinstance(each, torch.nn.modules.batchnorm._BatchNorm))  # noqa: SLF001 - it has no public name
    optimizer = loop.optimizer(module.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    scaler = torch.amp.GradScaler(device, init_scale=2.0**10, enabled=loop.scales)
    averaged = AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(0.9))  # type: ignore[no-untyped-call]
    found = []
    for _ in range(STEPS):
        for _ in range(loop.accumulates):
            with torch.autocast(device, loop.half) if loop.half else nullcontext():
                value = loss(subject, device)
            scaler.scale(value / loop.accumulates).backward()  # type: ignore[no-untyped-call]
        if loop.clips:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if loop.decays:
            schedule.step()
        if loop.averages:
            averaged.update_parameters(module)
        found.append(float(value))
    if loop.averages:
        module.load_state_dict(averaged.module.state_dict())
        found.append(float(loss(subject, device)))
    return found


def loss(subject: Subject, device: str) -> torch.Tensor:
    """Return how far the first result is from noise, equal on both devices."""
    result = next(each for each in results_of(subject(), device).values() if each.requires_grad)
    target = torch.randn(result.shape, generator=torch.Generator().manual_seed(1))
    return torch.nn.functional.mse_loss(result.float(), target.to(device))
