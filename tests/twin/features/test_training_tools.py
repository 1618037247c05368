"""Mixed precision, loss scaling, files, pinned memory, loaders, switches."""

from __future__ import annotations

import copy
import io
import pickle
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch import nn
from torch.utils.dlpack import from_dlpack
from torch_npu.npu.amp import GradScaler as NpuGradScaler

if TYPE_CHECKING:
    from collections.abc import Iterator

npu = torch_npu.npu


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype: torch.dtype) -> None:
    layer, x = nn.Linear(8, 8).to("npu"), torch.randn(4, 8, device="npu")
    with torch.autocast("npu", dtype=dtype):
        product = layer(x)
        assert product.dtype == dtype
        assert product.softmax(-1).dtype == torch.float32
        with torch.autocast("npu", enabled=False):
            assert layer(x).dtype == torch.float32
    assert layer(x).dtype == torch.float32
    product.sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32


SCALERS = [
    lambda: torch.amp.GradScaler("npu", init_scale=128.0, growth_interval=2),
    lambda: NpuGradScaler(init_scale=128.0, growth_interval=2),
]


@pytest.mark.parametrize("make", SCALERS)
def test_an_overflow_skips_the_step_and_halves_the_scale(make: object) -> None:
    assert callable(make)
    scaler, layer = make(), nn.Linear(4, 1).to("npu")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    scales, moved = [], []
    for step in range(5):
        x = torch.ones(2, 4)
        if step == 1:
            x[0, 0] = float("inf")
        before = layer.weight.detach().clone()
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            loss = layer(x.to("npu")).float().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        moved.append(not torch.equal(before, layer.weight))
    assert moved == [True, False, True, True, True]
    assert scales == [128, 64, 64, 128, 128]


def test_what_was_saved_is_loaded_where_it_shall_be() -> None:
    layer = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to("npu")
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    for where, device in (
        (None, "npu:0"),
        ("cpu", "cpu"),
        ("npu:1", "npu:1"),
        ({"npu:0": "npu:1"}, "npu:1"),
    ):
        file.seek(0)
        weight = torch.load(file, map_location=where)["0.weight"]
        assert str(weight.device) == device
        assert torch.equal(weight.cpu(), layer.state_dict()["0.weight"].cpu())


def test_tensors_are_pickled_and_copied() -> None:
    x = torch.randn(3, 4, device="npu")
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):  # noqa: S301 (our own)
        assert other.device == x.device
        assert torch.equal(other, x)


def test_dlpack_shares_the_memory() -> None:
    x = torch.arange(4.0, device="npu")
    y = from_dlpack(x)
    y += 1
    assert y.device == x.device
    assert x.cpu().tolist() == [1, 2, 3, 4]


def test_an_optimizers_state_moves() -> None:
    layer = nn.Linear(3, 2).to("npu")
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(2, 3, device="npu")).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    state = torch.load(file, map_location="cpu")
    assert state["state"][0]["exp_avg"].device.type == "cpu"
    optimizer.load_state_dict(state)
    assert optimizer.state[layer.weight]["exp_avg"].device.type == "npu"


def test_pinned_memory() -> None:
    host = torch.arange(1000.0)
    x = host.pin_memory()
    assert x.is_pinned()
    assert x.view(10, 100).is_pinned()
    assert not host.is_pinned()
    y = torch.empty(1000, pin_memory=True)
    assert y.is_pinned()
    y.copy_(x.to("npu", non_blocking=True) * 2, non_blocking=True)
    npu.synchronize()
    assert torch.equal(y, host * 2)


def test_a_pageable_source_may_be_changed_at_once() -> None:
    for number in range(100):
        source = torch.full((50_000,), float(number))
        x = source.to("npu", non_blocking=True)
        source.fill_(-1)
        assert torch.equal(x.cpu(), torch.full((50_000,), float(number))), number


class Numbers(torch.utils.data.Dataset[torch.Tensor]):
    """A few rows."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index))


def test_a_loader_pins_its_batches() -> None:
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, pin_memory=True)
    total = torch.zeros(3, device="npu")
    for batch in loader:
        assert batch.is_pinned()
        total += batch.to("npu", non_blocking=True).sum(0)
    assert total.cpu().tolist() == [45, 45, 45]


@pytest.fixture
def deterministic() -> Iterator[None]:
    before = torch.get_deterministic_debug_mode()
    torch.use_deterministic_algorithms(mode=True)
    yield
    torch.set_deterministic_debug_mode(before)


@pytest.mark.usefixtures("deterministic")
def test_deterministic_mode_adds_in_order() -> None:
    assert torch.are_deterministic_algorithms_enabled()
    x = torch.randn(4000, 3)
    where = torch.randint(0, 5, (4000,))
    results = [
        torch.zeros(5, 3, device="npu").index_add_(0, where.to("npu"), x.to("npu")).cpu()
        for _ in range(3)
    ]
    assert all(torch.equal(results[0], result) for result in results)


def test_precision_switches_are_kept_and_change_nothing() -> None:
    x = torch.randn(20, 20)
    before = npu.matmul.allow_hf32, npu.conv.allow_hf32
    try:
        for allowed in (True, False):
            npu.matmul.allow_hf32 = npu.conv.allow_hf32 = allowed
            assert (npu.matmul.allow_hf32, npu.conv.allow_hf32) == (allowed, allowed)
            assert torch.allclose((x.to("npu") @ x.to("npu")).cpu(), x @ x, atol=1e-5)
    finally:
        npu.matmul.allow_hf32, npu.conv.allow_hf32 = before
