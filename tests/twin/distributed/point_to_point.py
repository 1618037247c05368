"""Sends and receives, what they may overlap with, and several groups at once."""

from __future__ import annotations

from typing import Any

import torch
import torch_npu
from torch import distributed as dist

from tests.twin.distributed.collectives import MOVED, same, values


def pairs() -> None:
    """Every rank sends to every other one, in order."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for source in range(size):
        for target in range(size):
            if source == target:
                continue
            for dtype in MOVED:
                x = values(source, (3, 4), dtype)
                if rank == source:
                    dist.send(x.to("npu"), target)
                elif rank == target:
                    got = torch.empty(3, 4, dtype=dtype).to("npu")
                    dist.recv(got, source)
                    same(got, x)


def ring() -> None:
    """Batches in which every rank sends and receives at once, also large ones and to itself."""
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    for count in (1, 1_000_003):
        got = torch.empty(count).to("npu")
        sent = torch.full((count,), float(rank)).to("npu")
        work = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, sent, right), dist.P2POp(dist.irecv, got, left)]
        )
        for item in work:
            item.wait()
        same(got, torch.full((count,), float(left)))
    pieces = [torch.empty(2, dtype=torch.int64).to("npu") for _ in range(size)]
    held = [torch.tensor([rank, peer]).to("npu") for peer in range(size)]
    others = [peer for peer in range(size) if peer != rank]
    sends = [dist.P2POp(dist.isend, held[peer], peer) for peer in others]
    receives = [dist.P2POp(dist.irecv, pieces[peer], peer) for peer in others]
    for item in dist.batch_isend_irecv(receives + sends):
        item.wait()
    for peer in others:
        same(pieces[peer], torch.tensor([peer, rank]))


def both_send_first() -> None:
    """Two ranks that both send before they receive do not block each other."""
    rank = dist.get_rank()
    for count in (3, 500_000):
        sent = torch.full((count,), rank + 1.0).to("npu")
        got = torch.empty(count).to("npu")
        first = dist.isend(sent, 1 - rank)
        second = dist.irecv(got, 1 - rank)
        assert first is not None
        assert second is not None
        first.wait()
        second.wait()
        same(got, torch.full((count,), 2.0 - rank))


def overlap() -> None:
    """Work that is waited for later, between computations on the current stream."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.full((1000,), 1.0 + rank).to("npu")
    work = [dist.all_reduce(x, async_op=True) for _ in range(5)]
    y = torch.ones(100, 100).to("npu") @ torch.ones(100, 100).to("npu")
    for item in work:
        assert item is not None
        item.wait()
    x += 1
    same(x, torch.full((1000,), size * (size + 1) / 2 * size**4 + 1))
    same(y, torch.full((100, 100), 100.0))


def groups() -> None:
    """Groups of some ranks, at the same time as the group of all."""
    rank, size = dist.get_rank(), dist.get_world_size()
    pair = dist.new_group([0, 1])
    rest = dist.new_group(list(range(1, size)))
    everyone = torch.ones(4).to("npu")
    work = dist.all_reduce(everyone, async_op=True)
    assert work is not None
    x = torch.full((4,), rank + 1.0).to("npu")
    if rank in (0, 1):
        dist.all_reduce(x, group=pair)
        same(x, torch.full((4,), 3.0))
        dist.broadcast(x, src=1, group=pair)
    if rank > 0:
        y = torch.full((4,), float(rank)).to("npu")
        dist.all_reduce(y, group=rest)
        same(y, torch.full((4,), float(sum(range(1, size)))))
    work.wait()
    same(everyone, torch.full((4,), float(size)))
    dist.barrier()


def mesh() -> None:
    """A device mesh of two dimensions, and a distributed tensor on it."""
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415
    from torch.distributed.tensor import (  # noqa: PLC0415
        DTensor,
        Replicate,
        Shard,
        distribute_tensor,
    )

    made = init_device_mesh("npu", (2, 2), mesh_dim_names=("data", "model"))
    x = torch.arange(32.0).reshape(8, 4)
    w = torch.arange(12.0).reshape(4, 3)
    sharded = distribute_tensor(x.to("npu"), made, [Shard(0), Shard(1)])
    weight = distribute_tensor(w.to("npu"), made, [Replicate(), Shard(0)])
    product = sharded @ weight
    assert isinstance(product, DTensor)
    same(product.full_tensor(), x @ w)
    same(sharded.redistribute(made, [Replicate(), Replicate()]).to_local(), x)
    total = torch.full((2,), float(made.get_rank())).to("npu")
    dist.all_reduce(total, group=made.get_group("model"))
    row = made.get_rank() // 2 * 2
    same(total, torch.full((2,), float(2 * row + 1)))


def two_backends() -> None:
    """CPU tensors by Gloo and device tensors by HCCL in one group."""
    rank, size = dist.get_rank(), dist.get_world_size()
    on_cpu, on_npu = torch.full((3,), rank + 1.0), torch.full((3,), rank + 1.0).to("npu")
    dist.all_reduce(on_cpu)
    dist.all_reduce(on_npu)
    same(on_npu, on_cpu)
    assert on_cpu[0].item() == size * (size + 1) / 2


def captured() -> None:
    """A graph with a collective is captured once and replayed."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.zeros(5).to("npu")
    dist.all_reduce(x)  # makes the communicator
    torch_npu.npu.synchronize()
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        y = x + 1
        dist.all_reduce(y)
        z = y * 2
    for step in range(3):
        x.fill_(rank + step)
        graph.replay()
        same(z, torch.full((5,), 2.0 * (sum(range(size)) + size * (step + 1))))


def user_groups() -> None:
    """Waits inside of a group that torch_npu's backend began by hand."""
    rank, size = dist.get_rank(), dist.get_world_size()
    world = dist.group.WORLD
    assert world is not None
    backend: Any = world._get_backend(torch.device("npu"))  # noqa: SLF001 - as torch_npu's own tests do
    x = torch.full((100_000,), rank + 1.0).to("npu")
    y = torch.full((100_000,), float(rank)).to("npu")
    dist.barrier()
    backend._group_start()  # noqa: SLF001
    reduced = dist.all_reduce(x, async_op=True)
    moved = dist.isend(y, 1 - rank) if rank == 0 else dist.irecv(y, 1 - rank)
    backend._group_end()  # noqa: SLF001
    for work in (reduced, moved):
        assert work is not None
        work.wait()
    same(x, torch.full((100_000,), size * (size + 1) / 2))
    same(y, torch.zeros(100_000))
