"""Normalisation: native/opapi/ops/reduction/*normalization.cpp."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import HALVES, agree, check, copied
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

EPS = 1e-5


def positive(shape: tuple[int, ...], seed: int = 5) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) + 0.5


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 4)])
def test_batch_norm(shape: tuple[int, ...], running: bool, affine: bool) -> None:  # noqa: FBT001
    """The running statistics are results, too."""
    parameters = [leaf((3,), seed=6), leaf((3,), seed=7)] if affine else [None, None]
    statistics = [some((3,), torch.float32), positive((3,))] if running else [None, None]

    def run(training: bool, x: torch.Tensor, *rest: torch.Tensor | None) -> list[torch.Tensor]:  # noqa: FBT001
        mean, var = (None if each is None else each.clone() for each in rest[:2])
        result = functional.batch_norm(x, mean, var, rest[2], rest[3], training, 0.3, EPS)
        return [result, *(each for each in (mean, var) if each is not None)]

    for training in (True, False) if running else (True,):
        check_gradients(partial(run, training), leaf(shape), *statistics, *parameters)


def test_batch_norm_layouts() -> None:
    images = some((2, 6, 5, 3), torch.float32).permute(0, 3, 1, 2)
    batch_norm = partial(functional.batch_norm, running_mean=None, running_var=None, training=True)
    for tensor in (images, images[:, :, ::2], images.transpose(2, 3)):
        torch.testing.assert_close(batch_norm(tensor.to("npu")).cpu(), batch_norm(tensor))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("order", [(2, 0, 3, 1), (2, 3, 0, 1), (0, 1, 2, 3)], ids=str)
def test_batch_norm_gradients_of_any_strides(training: bool, order: tuple[int, ...]) -> None:  # noqa: FBT001
    """One image whose strides fit two memory formats: ATen's kernel on the CPU takes the other."""
    sizes = (1, 3, 4, 5)
    back = [order.index(axis) for axis in range(4)]
    x, grad = (
        leaf(tuple(sizes[axis] for axis in order), seed=seed).detach().permute(back)
        for seed in (1, 2)
    )
    mean, var, weight = some((3,), torch.float32), positive((3,)), positive((3,), seed=8)
    saved = x.mean((0, 2, 3)), (x.var((0, 2, 3), unbiased=False) + EPS).rsqrt()
    statistics = [tensor.to("npu") for tensor in (weight, mean, var, *saved)]
    results = [torch.empty(sizes, device="npu"), *(torch.empty(3, device="npu") for _ in "wb")]
    arguments = (copied(grad, "npu"), copied(x, "npu"), *statistics)
    call("aclnnBatchNormBackward", *arguments, training, EPS, [True] * 3, *results)

    leaves = [tensor.contiguous().requires_grad_() for tensor in (x, weight, torch.zeros(3))]
    normalized = functional.batch_norm(leaves[0], mean, var, leaves[1], leaves[2], training)
    wanted = torch.autograd.grad(normalized, leaves, grad.contiguous())
    for actual, expected in zip(results, wanted, strict=True):
        torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("wide", [True, False])
def test_batch_norm_of_half(dtype: torch.dtype, wide: bool) -> None:  # noqa: FBT001
    """With float32 parameters (autocast) and with half ones (a half model)."""
    kept = torch.float32 if wide else dtype
    mean, var = some((3,), kept), positive((3,)).to(kept)
    weight, bias = leaf((3,), kept, seed=6), leaf((3,), kept, seed=7)
    for training in (True, False):
        batch_norm = partial(functional.batch_norm, training=training)
        check_gradients(
            lambda x, m, v, w, b, batch_norm=batch_norm: batch_norm(x, m.clone(), v.clone(), w, b),
            leaf((4, 3, 5, 5), dtype),
            mean,
            var,
            weight,
            bias,
        )


MANY = (512, 4, 8, 8)
NORMS: dict[str, Callable[[], torch.nn.Module]] = {
    "batch": lambda: torch.nn.BatchNorm2d(4),
    "batch, given statistics": lambda: torch.nn.BatchNorm2d(4).eval(),
    "layer": lambda: torch.nn.LayerNorm(8),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_gradients_of_half_add_up_in_float32(name: str, dtype: torch.dtype) -> None:
    x, grad = some(MANY, dtype, 0, 1), some(MANY, dtype, 0, 1).flip(0)
    results = []
    for norm, kept, device in (
        (NORMS[name]().double(), torch.float64, "cpu"),
        (NORMS[name]().to("npu"), dtype, "npu"),
    ):
        point = x.to(device, kept).requires_grad_()
        leaves = [point, *norm.parameters()]
        gradients = torch.autograd.grad(norm(point), leaves, grad.to(device, kept))
        results.append([each.cpu() for each in gradients])
    (wanted, *sums), (found, *added) = results
    torch.testing.assert_close(found, wanted.to(dtype))
    for actual, expected in zip(added, sums, strict=True):
        torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=5e-3)


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 6), (2, 6), (0, 6), (5, 2, 3)])
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(shape: tuple[int, ...], affine: bool) -> None:  # noqa: FBT001
    normalized = shape[-1:] if shape[-1] == 6 else shape[-2:]
    parameters = [leaf(normalized, seed=6), leaf(normalized, seed=7)] if affine else []
    check_gradients(
        lambda x, *rest: functional.layer_norm(x, normalized, *rest), leaf(shape), *parameters
    )
    check(lambda x: functional.layer_norm(x.t(), (4,)), some((4, 6), torch.float32))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_layer_norm_of_half(dtype: torch.dtype) -> None:
    for kept in (dtype, torch.float32):
        tensors = leaf((4, 6), dtype), leaf((6,), kept, seed=6), leaf((6,), kept, seed=7)
        check(lambda x, w, b: functional.layer_norm(x, (6,), w, b), *(t.detach() for t in tensors))


def test_layer_norm_shape() -> None:
    with pytest.raises(RuntimeError, match="normalized_shape"):
        functional.layer_norm(torch.ones(2, 3, device="npu"), (4,))


@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 5), (2, 6, 3, 4)])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(shape: tuple[int, ...], affine: bool) -> None:  # noqa: FBT001
    parameters = [leaf((6,), seed=6), leaf((6,), seed=7)] if affine else []
    for groups in (1, 2, 6):
        check_gradients(
            lambda x, *rest, groups=groups: functional.group_norm(x, groups, *rest),
            leaf(shape),
            *parameters,
        )
    images = some((2, 4, 3, 6), torch.float32).permute(0, 3, 1, 2)
    check(lambda x: functional.group_norm(x, 2), images)


def outputs(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """Return outputs that the kernels cannot write into: strided, and of another dtype."""
    return [
        torch.zeros((*shape, 2), device="npu")[..., 1],
        torch.zeros(shape, dtype=torch.float64, device="npu"),
    ]


def test_layer_norm_into_other_outputs() -> None:
    x, weight, bias = (some(shape, torch.float32) for shape in ((4, 6), (6,), (6,)))
    on_npu = x.to("npu"), [6], weight.to("npu"), bias.to("npu")
    for out in outputs((4, 6)):
        call("aclnnLayerNorm", *on_npu, EPS, out, None, None)
        agree(out.float(), functional.layer_norm(x, (6,), weight, bias, EPS))


def test_group_norm_into_other_outputs() -> None:
    x, weight, bias = (some(shape, torch.float32) for shape in ((2, 6, 5), (6,), (6,)))
    on_npu = x.to("npu"), weight.to("npu"), bias.to("npu")
    for out in outputs((2, 6, 5)):
        call("aclnnGroupNorm", *on_npu, 2, 6, 5, 3, EPS, out, None, None)
        agree(out.float(), functional.group_norm(x, 3, weight, bias, EPS))


@pytest.mark.parametrize("groups", [0, 4])
def test_groups_must_divide_the_channels(groups: int) -> None:
    x, statistic = torch.ones(2, 6, 5, device="npu"), torch.ones(2, groups, device="npu")
    gradient = x, x, statistic, statistic, None, 2, 6, 5, groups, [True, False, False]
    with pytest.raises(AclnnError, match="must divide the number of channels, 6"):
        call("aclnnGroupNorm", x, None, None, 2, 6, 5, groups, EPS, x, statistic, statistic)
    with pytest.raises(AclnnError, match="must divide the number of channels, 6"):
        call("aclnnGroupNormBackward", *gradient, torch.empty_like(x), None, None)


def test_norms_of_large_tensors() -> None:
    """Enough elements for several threads."""
    check_gradients(
        lambda x, w, b: functional.layer_norm(x, (128,), w, b),
        leaf((512, 128)),
        leaf((128,), seed=4),
        leaf((128,), seed=5),
    )
    check_gradients(
        lambda x, w: functional.group_norm(x.transpose(2, 3), 4, w),
        leaf((2, 16, 40, 48)),
        leaf((16,), seed=4),
    )


def test_instance_norm() -> None:
    check_gradients(functional.instance_norm, leaf((2, 3, 5, 5)))


def test_rms_norm() -> None:
    check_gradients(
        lambda x, w: functional.rms_norm(x, (6,), w), leaf((2, 3, 6)), leaf((6,), seed=6)
    )


# ---- operators of torch_npu, against their formulas


def rms(x: torch.Tensor, gamma: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    rstd = (x.float().square().mean(-1, keepdim=True) + eps).rsqrt()
    return (x.float() * rstd * gamma.float()).to(x.dtype), rstd


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
def test_npu_rms_norm(dtype: torch.dtype) -> None:
    x, gamma = some((2, 3, 8), dtype), some((8,), dtype)
    agree(
        list(torch_npu.npu_rms_norm(x.to("npu"), gamma.to("npu"), 1e-6)), list(rms(x, gamma, 1e-6))
    )
    shifted = list(rms(x, gamma.float() + 1, 1e-6))
    agree(list(torch_npu.npu_gemma_rms_norm(x.to("npu"), gamma.to("npu"), 1e-6)), shifted)


def test_npu_rms_norm_gradient() -> None:
    def run(x: torch.Tensor, gamma: torch.Tensor) -> object:
        if x.device.type == "cpu":
            return rms(x, gamma, 1e-6)[0]
        return torch_npu.npu_rms_norm(x, gamma, 1e-6)[0]

    check_gradients(run, leaf((2, 3, 8)), leaf((8,), seed=6))


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
def test_npu_add_rms_norm(dtype: torch.dtype) -> None:
    x1, x2, gamma = some((2, 3, 8), dtype), some((2, 3, 8), dtype).flip(0), some((8,), dtype)
    y, rstd = rms(x1 + x2, gamma, 1e-6)
    on_npu = (x1.to("npu"), x2.to("npu"), gamma.to("npu"), 1e-6)
    agree(list(torch_npu.npu_add_rms_norm(*on_npu)), [y, rstd, x1 + x2])
    if dtype != torch.float32:
        wide, narrow, *rest = torch_npu.npu_add_rms_norm_cast(*on_npu)
        agree([narrow, *rest], [y, rstd, x1 + x2])
        torch.testing.assert_close(wide.to(dtype).cpu(), y)


def test_npu_add_layer_norm() -> None:
    x1, x2 = some((2, 3, 8), torch.float32), some((2, 3, 8), torch.float32).flip(1)
    gamma, beta = some((8,), torch.float32), some((8,), torch.float32) + 1
    total = x1 + x2
    mean = total.mean(-1, keepdim=True)
    rstd = (total.var(-1, unbiased=False, keepdim=True) + EPS).rsqrt()
    expected = [functional.layer_norm(total, (8,), gamma, beta, EPS), mean, rstd, total]
    on_npu = (tensor.to("npu") for tensor in (x1, x2, gamma, beta))
    agree(list(torch_npu.npu_add_layer_norm(*on_npu, EPS, True)), expected)  # noqa: FBT003


def test_npu_deep_norm() -> None:
    def run(x: torch.Tensor, gx: torch.Tensor, beta: torch.Tensor, gamma: torch.Tensor) -> object:
        if x.device.type == "cpu":
            return functional.layer_norm(0.3 * x + gx, (8,), gamma, beta, 1e-6)
        return torch_npu.npu_deep_norm(x, gx, beta, gamma, 0.3, 1e-6)[2]

    parameters = leaf((8,), seed=6), leaf((8,), seed=7)
    check_gradients(run, leaf((2, 3, 8)), leaf((2, 3, 8), seed=8), *parameters)


def test_npu_group_norm_silu() -> None:
    x, gamma, beta = some((2, 6, 3, 4), torch.float32), some((6,), torch.float32), positive((6,))
    actual = torch_npu.npu_group_norm_silu(x.to("npu"), gamma.to("npu"), beta.to("npu"), 3, EPS)
    expected = functional.silu(functional.group_norm(x, 3, gamma, beta, EPS))
    agree(actual[0], expected)


def test_npu_group_norm_swish_gradient() -> None:
    def run(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> object:
        if x.device.type == "cpu":
            normalised = functional.group_norm(x, 3, gamma, beta, EPS)
            return normalised * torch.sigmoid(1.5 * normalised)
        return torch_npu.npu_group_norm_swish(x, 3, gamma, beta, EPS, 1.5)[0]

    check_gradients(run, leaf((2, 6, 3, 4)), leaf((6,), seed=6), leaf((6,), seed=7))


# ---- synchronised batch normalisation: two halves of a batch stand for two devices


def test_synchronised_batch_norm() -> None:
    x = leaf((6, 3, 4, 4)).detach()
    weight, bias = some((3,), torch.float32), some((3,), torch.float32)
    mean, var = some((3,), torch.float32), positive((3,))
    parts = [part.to("npu") for part in x.tensor_split([2])]
    means, invstds = zip(*(torch.batch_norm_stats(part, EPS) for part in parts), strict=True)
    counts = torch.tensor([part.numel() / 3 for part in parts], device="npu")
    running = mean.to("npu"), var.to("npu")
    mean_all, invstd_all = torch.batch_norm_gather_stats_with_counts(
        parts[0], torch.stack(means), torch.stack(invstds), *running, 0.3, EPS, counts
    )
    halves = [
        torch.batch_norm_elemt(part, weight.to("npu"), bias.to("npu"), mean_all, invstd_all, EPS)
        for part in parts
    ]
    expected = functional.batch_norm(x, mean, var, weight, bias, training=True, momentum=0.3)
    agree(torch.cat(halves), expected)
    agree(list(running), [mean, var])

    grad = leaf(x.shape, seed=9).detach()
    reduced = [
        torch.batch_norm_backward_reduce(
            part_grad.to("npu"), part, mean_all, invstd_all, weight.to("npu"), *[True] * 3
        )
        for part_grad, part in zip(grad.tensor_split([2]), parts, strict=True)
    ]
    sum_dy, sum_dy_xmu, grad_weight, grad_bias = (sum(each) for each in zip(*reduced, strict=True))
    grads = [
        torch.batch_norm_backward_elemt(
            part_grad.to("npu"),
            part,
            mean_all,
            invstd_all,
            weight.to("npu"),
            sum_dy,
            sum_dy_xmu,
            counts.int(),
        )
        for part_grad, part in zip(grad.tensor_split([2]), parts, strict=True)
    ]
    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight, bias)]
    result = functional.batch_norm(leaves[0], None, None, leaves[1], leaves[2], training=True)
    wanted = list(torch.autograd.grad(result, leaves, grad))
    for one, other in zip([torch.cat(grads), grad_weight, grad_bias], wanted, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)


def test_batch_norm_from_sums() -> None:
    """The values that torch_npu's SyncBatchNorm exchanges: sums and sums of squares."""
    x, mean, var = some((6, 3, 4), torch.float32), some((3,), torch.float32), positive((3,))
    parts = [part.to("npu") for part in x.tensor_split([2])]
    sums = [torch_npu.batch_norm_reduce(part, EPS) for part in parts]
    counts = torch.tensor([part.numel() // 3 for part in parts], device="npu", dtype=torch.int32)
    running = mean.to("npu"), var.to("npu")
    actual = torch_npu.batch_norm_gather_stats_update(
        parts[0],
        *(torch.stack(each) for each in zip(*sums, strict=True)),
        *running,
        0.3,
        EPS,
        counts,
    )
    functional.batch_norm(x, mean, var, training=True, momentum=0.3)
    variance = x.transpose(0, 1).flatten(1).var(1, unbiased=False)
    expected = [x.mean((0, 2)), (variance + EPS).rsqrt(), mean, var]
    for one, other in zip([*actual, *running], expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-5, atol=1e-5)
