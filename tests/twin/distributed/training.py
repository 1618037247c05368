"""Models that several ranks train have the losses of one process that trains on all of the data."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import torch
import torch_npu
from torch import distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

STEPS = 4
BATCH = 12  # a multiple of all group sizes


class Model(nn.Module):
    """Two layers, and one that only some steps use."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.second = nn.Linear(16, 16)
        self.sometimes = nn.Linear(16, 16)
        self.last = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor, *, whole: bool = True) -> torch.Tensor:
        x = torch.tanh(self.second(torch.tanh(self.first(x))))
        if whole:
            x = x + self.sometimes(x)
        scores: torch.Tensor = self.last(x)
        return scores


def made() -> Model:
    torch.manual_seed(5)
    return Model()


def data(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(BATCH, 6, generator=generator)
    return x, torch.randint(3, (BATCH,), generator=generator)


def alone(*, sometimes: bool = False) -> list[float]:
    """Return the losses of plain PyTorch on the CPU."""
    model = made()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for step in range(STEPS):
        x, target = data(step)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x, whole=not sometimes or step % 2 == 0), target)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses


def mine(step: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return this rank's share of the data of a step."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x, target = data(step)
    return x.chunk(size)[rank].to(device), target.chunk(size)[rank].to(device)


def shared(loss: torch.Tensor) -> float:
    """Return the mean of all ranks' losses."""
    total = loss.detach().clone()
    dist.all_reduce(total, dist.ReduceOp.AVG)
    return total.item()


def train(model: nn.Module, *, sometimes: bool = False) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for step in range(STEPS):
        x, target = mine(step, "npu")
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x, whole=not sometimes or step % 2 == 0), target)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(shared(loss))
    return losses


def close(got: list[float], expected: list[float]) -> None:
    torch.testing.assert_close(torch.tensor(got), torch.tensor(expected), rtol=1e-4, atol=1e-5)


def data_parallel() -> None:
    """Small buckets, so that there are several; a step in which parameters are not used."""
    model = made().to("npu")
    close(train(DistributedDataParallel(model, bucket_cap_mb=0.001)), alone())
    model = made().to("npu")
    wrapped = DistributedDataParallel(model, find_unused_parameters=True)
    close(train(wrapped, sometimes=True), alone(sometimes=True))


def accumulated() -> None:
    """Two halves without a reduction in between, and a hook that compresses the gradients."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # noqa: PLC0415

    wrapped = DistributedDataParallel(made().to("npu"), gradient_as_bucket_view=True)
    wrapped.register_comm_hook(None, default_hooks.fp16_compress_hook)
    alone_model = made()
    x, target = data(0)
    torch.autograd.backward(functional.cross_entropy(alone_model(x), target))
    mine_x, mine_target = mine(0, "npu")
    halves = zip(mine_x.chunk(2), mine_target.chunk(2), strict=True)
    for half, (part, wanted) in enumerate(halves):
        with wrapped.no_sync() if half == 0 else contextlib.nullcontext():
            torch.autograd.backward(functional.cross_entropy(wrapped(part), wanted) / 2)
    for got, expected in zip(wrapped.parameters(), alone_model.parameters(), strict=True):
        assert got.grad is not None
        assert expected.grad is not None
        torch.testing.assert_close(got.grad.cpu(), expected.grad, rtol=2e-2, atol=2e-3)


def fully_sharded() -> None:
    """FSDP of both kinds."""
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard  # noqa: PLC0415

    device = torch_npu.npu.current_device()
    close(train(FullyShardedDataParallel(made().to("npu"), device_id=device)), alone())
    model = made().to("npu")
    for layer in (model.first, model.second):
        fully_shard(layer)
    fully_shard(model)
    close(train(model), alone())


def tensor_parallel() -> None:
    """The layers of one model on several ranks."""
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415
    from torch.distributed.tensor.parallel import (  # noqa: PLC0415
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("npu", (dist.get_world_size(),))
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 3))
    torch.manual_seed(3)
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(5, 6)
    expected = model(x)
    parallel = parallelize_module(
        model.to("npu"), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}
    )
    torch.testing.assert_close(parallel(x.to("npu")).cpu(), expected, rtol=1e-4, atol=1e-5)


def saved() -> None:
    """A sharded model is saved and loaded by all ranks together."""
    from torch.distributed.checkpoint.state_dict import (  # noqa: PLC0415
        get_model_state_dict,
        set_model_state_dict,
    )
    from torch.distributed.checkpoint.state_dict_loader import load  # noqa: PLC0415
    from torch.distributed.checkpoint.state_dict_saver import save  # noqa: PLC0415
    from torch.distributed.fsdp import fully_shard  # noqa: PLC0415

    folder = Path(os.environ["FOLDER"], "checkpoint")
    model = made().to("npu")
    fully_shard(model)
    train(model)
    before = {name: value.full_tensor().cpu() for name, value in model.state_dict().items()}
    save(get_model_state_dict(model), checkpoint_id=folder)
    other = made().to("npu")
    fully_shard(other)
    state = get_model_state_dict(other)
    load(state, checkpoint_id=folder)
    set_model_state_dict(other, state)
    for name, value in other.state_dict().items():
        torch.testing.assert_close(value.full_tensor().cpu(), before[name], rtol=0, atol=0)
