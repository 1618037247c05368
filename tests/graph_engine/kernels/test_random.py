"""Random numbers of graphs: what they are distributed like, and that seed and offset fix them."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from opwright.graph_engine.kernels import random  # noqa: F401 - fills the table
from tests.graph_engine.agreement import call, compiled

COUNT = 20000
FLOAT, HALF, BFLOAT16 = 0, 1, 27


def drawn(name: str, *, seed: int, offset: int, dtype: int = FLOAT) -> torch.Tensor:
    """Return numbers of a generator of version 2."""
    key = torch.tensor([seed], dtype=torch.uint64)
    counter = torch.tensor([0, offset], dtype=torch.uint64)
    alg = torch.tensor(1)
    x = call(name, shape=[COUNT], key=key, counter=counter, alg=alg, dtype=dtype)
    assert isinstance(x, torch.Tensor)
    return x


@pytest.mark.parametrize("dtype", [FLOAT, HALF, BFLOAT16])
def test_uniform_numbers_fill_the_interval_and_never_are_1(dtype: int) -> None:
    x = drawn("StatelessRandomUniformV2", seed=3, offset=10, dtype=dtype)
    assert float(x.min()) >= 0
    assert float(x.max()) < 1
    shares = torch.histc(x.float(), bins=10, min=0, max=1) / COUNT
    assert float((shares - 0.1).abs().max()) < 0.01


def test_normal_numbers_have_the_moments() -> None:
    x = drawn("StatelessRandomNormalV2", seed=3, offset=10)
    for power, moment, tolerance in ((1, 0, 0.03), (2, 1, 0.05), (3, 0, 0.15), (4, 3, 0.3)):
        assert abs(float((x**power).mean()) - moment) < tolerance


def test_seed_and_offset_fix_the_numbers() -> None:
    streams = [
        drawn("StatelessRandomUniformV2", seed=seed, offset=offset)
        for seed, offset in ((0, 0), (0, 10), (1, 0), (10, 0))
    ]
    torch.testing.assert_close(
        drawn("StatelessRandomUniformV2", seed=0, offset=10), streams[1], rtol=0, atol=0
    )
    for first, second in itertools.combinations(streams, 2):
        both = torch.stack([first, second])
        assert abs(float(torch.corrcoef(both)[0, 1])) < 0.03


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_bernoulli(probability: float) -> None:
    numbers = {"seed": torch.tensor(1), "offset": torch.tensor(2)}
    x = call("StatelessBernoulli", shape=[COUNT], prob=torch.tensor(probability), **numbers)
    assert set(x.tolist()) <= {0.0, 1.0}
    assert abs(float(x.mean()) - probability) < 0.02


def test_a_permutation_has_each_number_once() -> None:
    x = call("StatelessRandperm", n=100, seed=torch.tensor(1), offset=torch.tensor(2))
    assert x.tolist() != sorted(x.tolist())
    assert sorted(x.tolist()) == list(range(100))


@pytest.mark.parametrize("replacement", [False, True])
def test_indices_are_drawn_by_weight(*, replacement: bool) -> None:
    weights = torch.tensor([1.0, 0.0, 3.0]).expand(COUNT, 3)
    x = call(
        "MultinomialWithReplacement",
        x=weights, seed=torch.tensor(1), offset=torch.tensor(2),
        numsamples=2, replacement=replacement,
    )  # fmt: skip
    assert abs(float((x[:, 0] == 2).float().mean()) - 0.75) < 0.02
    assert not (x == 1).any()
    assert bool((x[:, 0] == x[:, 1]).any()) is replacement


def test_a_mask_keeps_as_many_as_asked_for_and_scales_them() -> None:
    prob = torch.tensor(0.75)
    mask = call(
        "StatelessDropOutGenMask",
        shape=[COUNT + 3], prob=prob, seed=torch.tensor(1), seed1=torch.tensor(0),
    )  # fmt: skip
    x = torch.ones(COUNT + 3)
    y = call("DropOutDoMask", x=x, mask=mask, keep_prob=prob)
    assert set(y.tolist()) == {0.0, float(1 / prob)}
    assert abs(float(y.mean()) - 1) < 0.02
    assert mask.numel() % 16 == 0


@pytest.mark.isolated
def test_graphs_follow_the_seed_of_the_device() -> None:
    function = compiled(lambda p: p.bernoulli())
    p = torch.full((5000,), 0.3).to("npu")
    torch_npu.npu.manual_seed(5)
    first, second = function(p), function(p)
    torch_npu.npu.manual_seed(5)
    again = function(p)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert abs(first.mean().item() - 0.3) < 0.03
