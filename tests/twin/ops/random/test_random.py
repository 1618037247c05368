"""Random numbers: native/opapi/ops/random/random.cpp.

The device has a generator of its own, so numbers are compared with each other and with their
distribution, not with the CPU's.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, cast

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import AclnnError, Scalar, call
from tests.twin.ops.compare import FLOATS, INTEGERS, agree, copied, flat, rejects

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[torch.Tensor], torch.Tensor]

MANY = 20_000
KEEP = 0.75


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="npu")


def weights() -> torch.Tensor:
    return torch.tensor([0.1, 0.2, 0.3, 0.4], device="npu").expand(5, 4)


DRAWS: dict[str, Callable[[], torch.Tensor]] = {
    "uniform": lambda: empty(MANY).uniform_(-1, 3),
    "normal": lambda: empty(MANY).normal_(2, 3),
    "random": lambda: empty(MANY, dtype=torch.int32).random_(),
    "random_to": lambda: empty(MANY, dtype=torch.int64).random_(10),
    "random_from_to": lambda: empty(MANY).random_(-3, 4),
    "bernoulli": lambda: empty(MANY).bernoulli_(0.3),
    "bernoulli_tensor": lambda: torch.bernoulli(torch.full((MANY,), 0.3, device="npu")),
    "exponential": lambda: empty(MANY).exponential_(2),
    "sim_exponential": lambda: torch_npu.npu_sim_exponential_(empty(MANY), 2.0),
    "normal_tensor_tensor": lambda: torch.normal(
        torch.full((MANY, 1), 2.0).to("npu"), weights()[:1]
    ),
    "normal_tensor_float": lambda: torch.normal(torch.full((MANY,), 2.0).to("npu"), 3.0),
    "normal_float_tensor": lambda: torch.normal(2.0, torch.full((MANY,), 3.0).to("npu")),
    "normal_float_float": lambda: torch.normal(2.0, 3.0, (MANY,), device="npu"),
    "multinomial": lambda: torch.multinomial(weights(), MANY, replacement=True),
    "multinomial_once": lambda: torch.multinomial(torch.ones(MANY, device="npu"), 100),
    "randperm": lambda: torch.randperm(MANY, device="npu"),
    "rand": lambda: torch.rand(MANY, device="npu"),
    "randn": lambda: torch.randn(MANY, device="npu"),
    "randint": lambda: torch.randint(0, 99, (MANY,), device="npu"),
    "dropout": lambda: torch.dropout(torch.ones(MANY, device="npu"), 1 - KEEP, train=True),
    "dropout_mask": lambda: torch_npu.npu_dropout_gen_mask([MANY], 1 - KEEP, device="npu"),
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


@draws
def test_seed_repeats_and_calls_differ(draw: Callable[[], torch.Tensor]) -> None:
    torch_npu.npu.manual_seed(5)
    first, second = draw().cpu(), draw().cpu()
    torch_npu.npu.manual_seed(5)
    assert torch.equal(draw().cpu(), first)
    assert torch.equal(draw().cpu(), second)
    assert not torch.equal(first, second)
    torch_npu.npu.manual_seed(6)
    assert not torch.equal(draw().cpu(), first)


@draws
def test_state_restores(draw: Callable[[], torch.Tensor]) -> None:
    draw()
    state = torch_npu.npu.get_rng_state()
    first = draw().cpu()
    draw()
    torch_npu.npu.set_rng_state(state)
    assert torch.equal(draw().cpu(), first)


def test_generators_are_independent() -> None:
    def draw(generator: torch.Generator) -> torch.Tensor:
        return torch.rand(100, device="npu", generator=generator).cpu()

    one, same, other = (torch.Generator("npu").manual_seed(seed) for seed in (3, 3, 4))
    first = draw(one)
    torch.rand(7, device="npu")
    assert torch.equal(draw(same), first)
    assert not torch.equal(draw(other), first)


def test_number_of_threads_changes_nothing() -> None:
    def draw() -> torch.Tensor:
        torch_npu.npu.manual_seed(1)
        return torch.dropout(torch.ones(200_000, device="npu"), 0.5, train=True).cpu()

    threads = torch.get_num_threads()
    parallel = draw()
    torch.set_num_threads(1)
    try:
        assert torch.equal(draw(), parallel)
    finally:
        torch.set_num_threads(threads)


MOMENTS: dict[str, tuple[float, float]] = {
    "uniform": (1, 4 / 12**0.5),
    "normal": (2, 3),
    "random_to": (4.5, (99 / 12) ** 0.5),
    "random_from_to": (0, 2),
    "bernoulli": (0.3, 0.21**0.5),
    "bernoulli_tensor": (0.3, 0.21**0.5),
    "exponential": (0.5, 0.5),
    "sim_exponential": (0.5, 0.5),
    "normal_tensor_float": (2, 3),
    "normal_float_tensor": (2, 3),
    "normal_float_float": (2, 3),
    "multinomial": (2, 1),
    "randperm": ((MANY - 1) / 2, ((MANY**2 - 1) / 12) ** 0.5),
    "rand": (0.5, 12**-0.5),
    "randn": (0, 1),
    "dropout": (1, (1 / KEEP - 1) ** 0.5),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_distribution(name: str) -> None:
    torch_npu.npu.manual_seed(0)
    numbers = DRAWS[name]().cpu().double()
    mean, deviation = MOMENTS[name]
    assert numbers.mean().item() == pytest.approx(mean, abs=5 * deviation / MANY**0.5)
    assert numbers.std().item() == pytest.approx(deviation, rel=0.05)


def test_bounds() -> None:
    torch_npu.npu.manual_seed(0)
    integers = set(empty(MANY, dtype=torch.int8).random_(-3, 4).cpu().tolist())
    assert integers == set(range(-3, 4))
    uniform = empty(MANY).uniform_(-1, 3).cpu()
    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert torch.equal(torch.randperm(MANY, device="npu").cpu().sort().values, torch.arange(MANY))
    assert len(set(torch.multinomial(weights()[0], 4).cpu().tolist())) == 4


IN_PLACE: dict[str, tuple[Draw, tuple[torch.dtype, ...]]] = {
    "uniform": (lambda t: t.uniform_(1, 2), FLOATS),
    "normal": (lambda t: t.normal_(5, 0.5), FLOATS),
    "random": (lambda t: t.random_(1, 100), FLOATS + INTEGERS),
    "bernoulli": (lambda t: t.bernoulli_(1.0), (*FLOATS, *INTEGERS, torch.bool)),
    # torch_npu composes it; its last step for float64 returns a new tensor
    "exponential": (lambda t: t.exponential_().add_(1), FLOATS[:3]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_writes_the_view_only(name: str) -> None:
    draw, dtypes = IN_PLACE[name]
    for dtype in dtypes:
        storage = torch.zeros(6, 8, dtype=dtype)
        device = copied(storage, "npu")
        view = device[1:5, ::2]
        assert draw(view) is view
        host = device.cpu()
        assert bool((host[1:5, ::2] != 0).all()), dtype
        host[1:5, ::2] = 0
        assert torch.equal(host, storage), dtype
        assert draw(empty(0, dtype=dtype)).numel() == 0


def test_dtypes_of_outputs() -> None:
    for dtype in (torch.int64, torch.int32, torch.int16):
        numbers = torch.randperm(100, device="npu", dtype=dtype).cpu()
        assert torch.equal(numbers.sort().values, torch.arange(100, dtype=dtype))
    half = torch.normal(torch.zeros(MANY, dtype=torch.float16, device="npu"), 1.0)
    assert half.dtype == torch.float16
    assert half.float().std().item() == pytest.approx(1, rel=0.05)


def test_errors_name_the_function() -> None:
    with pytest.raises(RuntimeError, match="std"):
        empty(3).normal_(0, -1)
    rejects("Multinomial", torch.multinomial, torch.tensor([-1.0, 2.0]), 1)
    rejects("Multinomial", torch.multinomial, torch.tensor([1.0, 0.0]), 3)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_of_continuous_distributions(dtype: torch.dtype) -> None:
    """CANN lists integers for both: numbers of float32 without their fractions."""
    x = empty(MANY).to(dtype)
    torch_npu.npu.manual_seed(1)
    wide = empty(MANY).normal_(40, 5)
    torch_npu.npu.manual_seed(1)
    agree(x.normal_(40, 5), wide.cpu().to(dtype))
    assert set(x.uniform_(3, 6).tolist()) == {3, 4, 5}
    assert torch.randn(4, dtype=dtype, device="npu").dtype == dtype


# Dropout


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("dtype", FLOATS[:3], ids=str)
def test_dropout_in_place_drops_what_it_drops_otherwise(p: float, dtype: torch.dtype) -> None:
    results = []
    for inplace in (False, True):
        torch_npu.npu.manual_seed(3)
        x = torch.ones(3, 333, dtype=dtype, device="npu").requires_grad_()
        results.append(functional.dropout(x * 1, p, inplace=inplace).detach().cpu())
    assert torch.equal(results[0] == 0, results[1] == 0)
    torch.testing.assert_close(*results)


def bits(mask: torch.Tensor, count: int) -> torch.Tensor:
    """Take the mask of one bit per element apart, lowest bit first."""
    spread = mask.cpu().unsqueeze(1).bitwise_right_shift(torch.arange(8, dtype=torch.uint8))
    return spread.bitwise_and(1).flatten()[:count]


@pytest.mark.parametrize("dtype", FLOATS[:3])
@pytest.mark.parametrize("shape", [(7,), (3, 50), (2, 3, 1000), (0, 4), ()])
def test_dropout_applies_its_mask(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch_npu.npu.manual_seed(2)
    x = torch.randn(shape).to(dtype)
    output, mask = torch.native_dropout(x.to("npu"), 0.25, train=True)
    assert mask.numel() == (x.numel() + 127) // 128 * 16
    kept = bits(mask, x.numel()).view(shape)
    torch.testing.assert_close(output.cpu(), x * kept / 0.75)
    if not x.numel():
        return  # torch_npu gives the gradient the shape of the mask
    grad = torch.ops.aten.native_dropout_backward(x.to("npu"), mask, 1 / 0.75)
    torch.testing.assert_close(grad.cpu(), x * kept / 0.75)


def test_dropout_in_a_network() -> None:
    layer = torch.nn.Dropout(0.5)
    x = torch.randn(64, 33, device="npu", requires_grad=True)
    y = layer(x)
    y.backward(torch.ones_like(y))
    kept = y.detach().cpu() != 0
    assert 0.4 < kept.float().mean() < 0.6
    torch.testing.assert_close(cast("torch.Tensor", x.grad).cpu(), kept * 2.0)
    torch.testing.assert_close(y.detach().cpu(), x.detach().cpu() * kept * 2)
    assert torch.equal(layer.eval()(x), x)


def test_dropout_of_a_view() -> None:
    torch_npu.npu.manual_seed(2)
    x = torch.randn(40, 6)
    output, mask = torch.native_dropout(copied(x.t(), "npu"), 0.5, train=True)
    torch.testing.assert_close(output.cpu(), x.t() * bits(mask, 240).view(6, 40) * 2)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_of_nothing_and_of_all(p: float) -> None:
    x = torch.randn(10)
    output = torch.dropout(x.to("npu"), p, train=True).cpu()
    assert torch.equal(output, x if p == 0 else torch.zeros(10))
    masks = bits(torch_npu.npu_dropout_gen_mask([100], p, device="npu"), 100)
    assert torch.equal(masks, torch.full((100,), int(p == 0), dtype=torch.uint8))


def test_a_dropout_mask_has_its_rate() -> None:
    for p in (0.1, 0.5, 0.9):
        mask = torch_npu.npu_dropout_gen_mask([MANY + 3], p, device="npu")
        kept = bits(mask, MANY + 3).float().mean().item()
        assert kept == pytest.approx(1 - p, abs=5 * (p * (1 - p) / MANY) ** 0.5)
        assert not bits(mask, mask.numel() * 8)[MANY + 3 :].any()


# Functions that torch_npu calls in a captured graph, or on another chip. They are called directly.


def numbers(value: int) -> torch.Tensor:
    return torch.tensor([value], device="npu")


SEED, OFFSET, WITHIN_GRAPH = 11, 40, 4
STATE = (SEED, OFFSET + WITHIN_GRAPH)


def graph_state() -> tuple[torch.Tensor, torch.Tensor, int]:
    return numbers(SEED), numbers(OFFSET), WITHIN_GRAPH


def test_state_in_tensors_gives_the_numbers_of_the_plain_form() -> None:
    single = ctypes.c_float
    for function, arguments in {
        "aclnnInplaceUniform": (1.0, 2.0),
        "aclnnInplaceNormal": (single(0), single(1)),
        "aclnnInplaceRandom": (0, 1000),
        "aclnnInplaceRandomWithoutFromTo": (),
    }.items():
        plain, graph = torch.zeros(100, device="npu"), torch.zeros(100, device="npu")
        call(function, plain, *arguments, *STATE)
        call(f"{function}Tensor", graph, *arguments, *graph_state())
        assert torch.equal(graph.cpu(), plain.cpu()), function
        assert bool(plain.cpu().any()), function


def test_state_in_tensors_is_read_when_the_operator_runs() -> None:
    seed, first, second = numbers(SEED), torch.zeros(9).to("npu"), torch.zeros(9).to("npu")
    call("aclnnInplaceUniformTensor", first, 0.0, 1.0, seed, numbers(0), 0)
    seed += 1
    call("aclnnInplaceUniformTensor", second, 0.0, 1.0, seed, numbers(0), 0)
    assert not torch.equal(first.cpu(), second.cpu())


def test_multinomial_and_masks_with_state_in_tensors() -> None:
    chosen = [torch.zeros(50, dtype=torch.int64, device="npu") for _ in range(2)]
    rates = weights()[0].contiguous()
    call("aclnnMultinomial", rates, 50, True, *STATE, chosen[0])  # noqa: FBT003 - the C signature
    call("aclnnMultinomialTensor", rates, 50, True, *graph_state(), chosen[1])  # noqa: FBT003
    assert torch.equal(chosen[0].cpu(), chosen[1].cpu())
    masks = [torch.zeros(16, dtype=torch.uint8, device="npu") for _ in range(2)]
    call("aclnnDropoutGenMaskV2", [100], 0.5, *STATE, torch.float32, masks[0])
    call("aclnnDropoutGenMaskV2Tensor", [100], 0.5, *graph_state(), torch.float32, masks[1])
    assert torch.equal(masks[0].cpu(), masks[1].cpu())
    assert bool(masks[0].cpu().any())


def test_exponential_with_state_in_tensors() -> None:
    x = torch.zeros(MANY, device="npu")
    call("aclnnStatelessExponentialTensor", x, *graph_state(), 2.0)
    assert x.cpu().mean().item() == pytest.approx(0.5, abs=0.02)


def test_dropout_v3() -> None:
    x = torch.randn(100, device="npu")
    results = []
    for name, state in (("", STATE), ("Tensor", graph_state())):
        out = torch.zeros(100, device="npu")
        mask = torch.zeros(16, dtype=torch.uint8, device="npu")
        call(f"aclnnDropoutV3{name}", x, None, 0.5, *state, out, mask)
        torch.testing.assert_close(out.cpu(), x.cpu() * bits(mask, 100) * 2)
        grad = torch.zeros(100, device="npu")
        call("aclnnDropoutV3Grad", x, mask, 2.0, grad)
        assert torch.equal(grad.cpu(), out.cpu())
        results.append(out.cpu())
    assert torch.equal(*results)


def test_masked_scale() -> None:
    x, mask = torch.randn(4, 5), torch.rand(4, 5) > 0.5
    out = torch.zeros(4, 5, device="npu")
    call("aclnnMaskedScale", x.to("npu"), mask.to("npu"), ctypes.c_float(2.5), out)
    torch.testing.assert_close(out.cpu(), x * mask * 2.5)


def test_wrong_masks_and_scalars_are_refused() -> None:
    x = torch.ones(100, device="npu")
    short = torch.zeros(3, dtype=torch.uint8, device="npu")
    call("aclnnInplaceBernoulli", x, Scalar(0.5), *STATE)
    with pytest.raises(AclnnError, match=r"DropoutGenMask.* 3 bytes, too few for 100 elements"):
        call("aclnnDropoutGenMask", [100], 0.5, *STATE, short)
    long = torch.ones(100, dtype=torch.uint8, device="npu")
    with pytest.raises(AclnnError, match="100 elements need 16 of uint8, one bit each"):
        call("aclnnDropoutDoMask", x, long, 0.5, x)
    with pytest.raises(AclnnError, match="prob"):
        call("aclnnInplaceBernoulli", x, None, *STATE)


def test_nothing_beside_a_view_changes() -> None:
    device = torch.zeros(4, 6, device="npu")
    torch.bernoulli(torch.ones(4, 3, device="npu"), out=device[:, ::2])
    assert torch.equal(flat(device.cpu()).view(4, 6)[:, 1::2], torch.zeros(4, 3))
