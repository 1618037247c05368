"""Operators on a chip without aclnn, each compared with the same on the CPU."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
import torch_npu
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

# Moves a tensor to the device in question.
Move: TypeAlias = "Callable[[torch.Tensor], torch.Tensor]"
Case: TypeAlias = "Callable[[Move], object]"

X = torch.linspace(-3, 3, 24).reshape(2, 3, 4)
IMAGE = torch.linspace(-1, 1, 2 * 3 * 8 * 9).sin().reshape(2, 3, 8, 9)
VOLUME = torch.linspace(-1, 1, 2 * 2 * 4 * 5 * 6).sin().reshape(2, 2, 4, 5, 6)
ND, FRACTAL_NZ = 2, 29
PLACES = torch.tensor([[0, 2, 1], [1, 1, 0]])


def backward(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> list[torch.Tensor]:
    """Return a result and its gradients."""
    leaves = [each.detach().clone().requires_grad_() for each in inputs]
    result = function(*leaves)
    weights = torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape).to(result)
    torch.autograd.backward(result, weights)
    return [result.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


def layer(module: nn.Module, x: torch.Tensor, to: Move) -> object:
    """Return a layer's result, and the gradients of input and parameters."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        parameter.data = torch.rand(parameter.shape) - 0.4
    x = to(x).detach().requires_grad_()
    result = module.to(x.device)(x)
    results = result if isinstance(result, tuple) else (result,)
    weights = [torch.linspace(0, 1, y.numel()).reshape(y.shape).to(y) for y in results]
    torch.autograd.backward(results, weights)
    buffers = [b for b in module.buffers() if b.is_floating_point()]
    parameters = [p.grad for p in module.parameters()]
    return [*(y.detach() for y in results), x.grad, *parameters, *buffers]


def written(to: Move) -> object:
    """Write a strided view, and a region that a mask names."""
    x = to(X.clone())
    x[:, 1:, ::2] = 7.0
    x[x > 2] = -1.0
    x.transpose(0, 1).mul_(2)
    return x


CASES: dict[str, Case] = {
    "add": lambda to: to(X) + to(X[:, :1]),
    "add half": lambda to: to(X.half()) * 2 + to(X.half()),
    "add int64": lambda to: to(PLACES) + 3,
    "empty": lambda to: to(torch.ones(0, 3)) + to(torch.ones(0, 3)),
    "scalar": lambda to: to(torch.tensor(2.5)) * to(X),
    "matmul": lambda to: to(X[0]) @ to(X[1]).t(),
    "batch matmul": lambda to: to(X) @ to(X).transpose(1, 2),
    "linear": lambda to: layer(nn.Linear(4, 5), X, to),
    "conv": lambda to: layer(nn.Conv2d(3, 4, 3, 2, 1), IMAGE, to),
    "conv groups": lambda to: layer(nn.Conv2d(3, 6, 3, groups=3), IMAGE, to),
    "conv transposed": lambda to: layer(nn.ConvTranspose2d(3, 4, 3, 2, 1), IMAGE, to),
    "conv 3d": lambda to: layer(nn.Conv3d(2, 3, 2), VOLUME, to),
    "batch norm": lambda to: layer(nn.BatchNorm2d(3), IMAGE, to),
    "batch norm 3d": lambda to: layer(nn.BatchNorm3d(2), VOLUME, to),
    "batch norm eval": lambda to: layer(nn.BatchNorm2d(3).eval(), IMAGE, to),
    "layer norm": lambda to: layer(nn.LayerNorm(4), X, to),
    "group norm": lambda to: layer(nn.GroupNorm(3, 3), IMAGE, to),
    "max pool": lambda to: layer(nn.MaxPool2d(3, 2, 1), IMAGE, to),
    "max pool ceil": lambda to: layer(nn.MaxPool2d(2, 2, ceil_mode=True), IMAGE, to),
    "max pool 3d": lambda to: layer(nn.MaxPool3d(2), VOLUME, to),
    "avg pool": lambda to: layer(nn.AvgPool2d(2), IMAGE, to),
    "avg pool 3d": lambda to: layer(nn.AvgPool3d(2, ceil_mode=True), VOLUME, to),
    "adaptive avg pool": lambda to: layer(nn.AdaptiveAvgPool2d(2), IMAGE, to),
    "embedding": lambda to: backward(lambda w: functional.embedding(to(PLACES), w), to(X[0])),
    "embedding bag": lambda to: functional.embedding_bag(
        to(PLACES.flatten()), to(X[0]), to(torch.tensor([0, 2, 3])), mode="sum"
    ),
    "prelu": lambda to: layer(nn.PReLU(3), X, to),
    "prelu of one": lambda to: layer(nn.PReLU(), X, to),
    "unfold backward": lambda to: backward(lambda x: functional.unfold(x, 2), to(IMAGE)),
    "softmax": lambda to: backward(lambda x: x.softmax(1), to(X)),
    "log softmax": lambda to: backward(lambda x: x.log_softmax(-1), to(X)),
    "selu": lambda to: backward(functional.selu, to(X)),
    "silu": lambda to: backward(functional.silu, to(X)),
    "hardshrink": lambda to: backward(functional.hardshrink, to(X)),
    "softshrink": lambda to: backward(functional.softshrink, to(X)),
    "cross entropy": lambda to: backward(
        lambda x: functional.cross_entropy(x, to(PLACES[0])), to(X[0])
    ),
    "binary cross entropy": lambda to: backward(
        lambda x: functional.binary_cross_entropy(x, to(X.sigmoid())), to(X.cos().square())
    ),
    "logits": lambda to: backward(
        lambda x: functional.binary_cross_entropy_with_logits(x, to(X.sigmoid())), to(X)
    ),
    "smooth l1": lambda to: backward(lambda x: functional.smooth_l1_loss(x, to(X.cos())), to(X)),
    "l1": lambda to: backward(lambda x: functional.l1_loss(x, to(X.cos())), to(X)),
    "kl div": lambda to: backward(
        lambda x: functional.kl_div(x, to(X.sigmoid()), reduction="batchmean"), to(X)
    ),
    "soft margin": lambda to: backward(
        lambda x: functional.soft_margin_loss(x, to(X.sign())), to(X)
    ),
    "sum": lambda to: [to(X).sum(), to(X).sum(1), to(X).mean((0, 2)), to(X).amax(-1)],
    "var": lambda to: [to(X).var(1), to(X).std()],
    "norm": lambda to: [to(X).norm(), to(X).norm(1, 1), to(X).norm(torch.inf, 0)],
    "nonzero": lambda to: to(X > 1).nonzero(),
    "masked select": lambda to: to(X)[to(X > 1)],
    "unique": lambda to: torch.unique(to(PLACES), return_inverse=True, return_counts=True),
    "sort": lambda to: to(X).sort(1, descending=True),
    "topk": lambda to: to(X).topk(2),
    "cumsum": lambda to: to(X).cumsum(1),
    "gather": lambda to: to(X[0]).gather(1, to(PLACES[:, :2])),
    "index": lambda to: to(X)[:, to(PLACES[0])],
    "index put": lambda to: to(X.clone()).index_put_((to(PLACES[1]),), to(X[0, 0])),
    "written": written,
    "where": lambda to: torch.where(to(X > 0), to(X), to(-X)),
    "cat": lambda to: torch.cat([to(X), to(X)[:, :1]], 1),
    "stack": lambda to: torch.stack([to(X), to(X)], 2),
    "permute": lambda to: to(X).permute(2, 0, 1).contiguous(),
    "repeat interleave": lambda to: to(X).repeat_interleave(2, 1),
    "upsample": lambda to: layer(nn.Upsample(scale_factor=2), IMAGE, to),
    "linear resize": lambda to: layer(nn.Upsample(scale_factor=1.4, mode="linear"), X, to),
    "bicubic": lambda to: layer(nn.Upsample(scale_factor=1.7, mode="bicubic"), IMAGE, to),
    "nearest of integers": lambda to: nn.Upsample(scale_factor=2)(to(PLACES[None].byte())),
    "bilinear": lambda to: layer(nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE, to),
    "unfold": lambda to: functional.unfold(to(IMAGE), 2, padding=1),
    "round": lambda to: to(X).round(decimals=1),
    "arange": lambda to: torch.arange(1.0, 7.0, 1.5, device=to(X).device),
    "inverse": lambda to: torch.linalg.inv(to(X[0, :, :3] + 5 * torch.eye(3))),
    "lstm cell": lambda to: layer(nn.LSTMCell(4, 3), X[0], to),
}
# Without a counterpart in PyTorch: what torch_npu's documentation says.
OWN = {
    "boxes encoded": lambda: (
        torch_npu.npu_bounding_box_encode(
            torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]]).to("npu"),
            torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 10]]).to("npu"),
            *(0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2),
        ).cpu()
        - torch.tensor([[40 / 3, 40 / 3, 0, 0], [40 / 3, 40 / 3, 0, 0]])
    ),
    "boxes decoded": lambda: (
        torch_npu.npu_bounding_box_decode(
            torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]]).to("npu"),
            torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]]).to("npu"),
            *(0, 0, 0, 0, 1, 1, 1, 1, (10, 10), 0.1),
        ).cpu()
        - torch.tensor([[2.5, 6.5, 9, 9], [9, 9, 9, 9]])
    ),
    "yolo boxes encoded": lambda: (
        torch_npu.npu_yolo_boxes_encode(
            torch.tensor([[0.0, 0, 4, 2], [2, 2, 4, 4]]).to("npu"),
            torch.tensor([[1.0, 0, 3, 2], [9, 9, 11, 9]]).to("npu"),
            torch.tensor([8, 16], dtype=torch.int32).to("npu"),
        ).cpu()
        # A centre stays within its cell, a size that is nothing is the millionth part.
        - torch.tensor(
            [[0.5, 0.5, math.log(0.5), 0], [0.9375, 0.875, 0, math.log(1e-6)]],
        )
    ),
    # The greatest number that is searched for is where the last of the bins begins.
    "calibrated": lambda: calibrated(with_offset=False) - torch.tensor([1004.0625 / 127, 0]),
    "calibrated with an offset": lambda: (
        calibrated(with_offset=True) - torch.tensor([(1004.0625 + 512) / 255, -42])
    ),
    "dropout": lambda: kept_share() - 0.75,
    "formats": lambda: torch_npu.npu_format_cast(stored(X.half()), ND).cpu() - X.half(),
    "matrix format": lambda: (
        (
            torch_npu.npu_format_cast(X[0].half().to("npu"), FRACTAL_NZ) @ X[1].half().t().to("npu")
        ).cpu()
        - X[0].half() @ X[1].half().t()
    ),
}


# torch_npu rounds the weights of a Conv3d module to half precision when it moves them.
LOOSE = {"conv 3d": 3e-3}


def stored(x: torch.Tensor) -> Any:  # noqa: ANN401 - torch_npu has no types
    """Return a tensor in the format of matrices."""
    found = torch_npu.npu_format_cast(x.to("npu"), FRACTAL_NZ)
    assert torch_npu.get_npu_format(found) == FRACTAL_NZ
    return found


def calibrated(*, with_offset: bool) -> torch.Tensor:
    """Return the scale and offset for numbers from -512 to 1016, of half and whole limits."""
    values = torch.arange(-64.0, 128.0) * 8
    counts = torch.histc(values, 128).cumsum(0).int()
    scale, offset = torch_npu.npu_ifmr(
        *(each.to("npu") for each in (values, values[:1], values[-1:], counts)),
        *(0.999999, 0.999999, 0.5, 1.25, 0.5),
        with_offset,
    )
    return torch.cat([scale, offset]).cpu()


def kept_share() -> torch.Tensor:
    """Return how much of a large tensor dropout keeps, which has to differ from call to call."""
    x = torch.ones(40000).to("npu")
    first, second = (functional.dropout(x, 0.25).cpu() for _ in range(2))
    assert not torch.equal(first, second)
    assert set(first.tolist()) == {0.0, torch.tensor(4 / 3).item()}
    return (first > 0).float().mean().mul(100).round() / 100


def tensors(value: object) -> list[torch.Tensor]:
    """Return the tensors of a result, on the CPU."""
    if isinstance(value, torch.Tensor):
        return [value.detach().cpu()]
    return [each for part in value for each in tensors(part)]  # type: ignore[attr-defined]


def compared(name: str, case: Case) -> str:
    """Return what went wrong with a case."""
    try:
        got, wanted = tensors(case(lambda t: t.to("npu"))), tensors(case(lambda t: t.cpu()))
        assert len(got) == len(wanted)
        for first, second in zip(got, wanted, strict=True):
            tolerance = 2e-2 if first.dtype == torch.float16 else LOOSE.get(name, 1e-4)
            torch.testing.assert_close(
                first, second, rtol=tolerance, atol=tolerance, check_stride=False
            )
    except Exception as error:  # noqa: BLE001 - a case may fail with anything: that is its result
        return f"{type(error).__name__}: {error}"
    return ""


def zero(case: Callable[[], torch.Tensor]) -> str:
    """Return what went wrong with a case whose result should be zero."""
    try:
        found = case()
        assert bool((found.abs() < 2e-2).all()), str(found)
    except Exception as error:  # noqa: BLE001 - a case may fail with anything: that is its result
        return f"{type(error).__name__}: {error}"
    return ""


def print_outcomes() -> None:
    """Print JSON: of each case, the reason why it went wrong, or nothing."""
    outcomes = {name: compared(name, case) for name, case in CASES.items()}
    outcomes |= {name: zero(case) for name, case in OWN.items()}
    sys.stdout.write(json.dumps(outcomes))
