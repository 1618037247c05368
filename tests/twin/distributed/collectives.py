"""The calls and comparisons of each rank, for the collectives.

The expected values are those of plain PyTorch on the CPU.
"""

from __future__ import annotations

import torch
import torch_npu
from torch import distributed as dist

REDUCED = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)
MOVED = (*REDUCED, torch.uint8, torch.bool, torch.float64)
SHAPES = ((5,), (3, 7), (1,), (4, 0), ())


def values(rank: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return what a rank holds: small numbers, so that no sum of a few is rounded or overflows."""
    generator = torch.Generator().manual_seed(rank + 17)
    return torch.randint(-3, 4, shape, generator=generator).to(dtype)


def everyone(shape: tuple[int, ...], dtype: torch.dtype) -> list[torch.Tensor]:
    """Return what all ranks hold."""
    return [values(rank, shape, dtype) for rank in range(dist.get_world_size())]


def same(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare a tensor of the device exactly."""
    assert got.device.type == "npu"
    torch.testing.assert_close(got.cpu(), expected, rtol=0, atol=0)


def all_reduce() -> None:
    """Reduce with every operator that HCCL has."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in REDUCED:
        for shape in SHAPES:
            held = torch.stack(everyone(shape, dtype))
            for op, expected in (
                (dist.ReduceOp.SUM, held.sum(0, dtype=dtype)),
                (dist.ReduceOp.MAX, held.amax(0)),
                (dist.ReduceOp.MIN, held.amin(0)),
            ):
                x = values(rank, shape, dtype).to("npu")
                dist.all_reduce(x, op)
                same(x, expected)
            if dtype not in (torch.int16, torch.bfloat16):
                x = values(rank, shape, dtype).to("npu")
                dist.all_reduce(x, dist.ReduceOp.PRODUCT)
                same(x, held.prod(0, dtype=dtype))
    x = values(rank, (6,), torch.float32).to("npu")
    dist.all_reduce(x, dist.ReduceOp.AVG)
    torch.testing.assert_close(x.cpu(), torch.stack(everyone((6,), torch.float32)).mean(0))
    large = torch.full((100_003,), rank + 1.0).to("npu")
    dist.all_reduce(large)
    same(large, torch.full((100_003,), size * (size + 1) / 2))


def reduce() -> None:
    """Reduce to each rank in turn; the others keep what they had or anything."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        for dtype in REDUCED:
            x = values(rank, (3, 5), dtype).to("npu")
            dist.reduce(x, root)
            if rank == root:
                same(x, torch.stack(everyone((3, 5), dtype)).sum(0, dtype=dtype))


def broadcast() -> None:
    """Every rank in turn is the one that all get their values from."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        for dtype in MOVED:
            for shape in SHAPES:
                x = values(rank, shape, dtype).to("npu")
                dist.broadcast(x, root)
                same(x, values(root, shape, dtype))
    objects: list[object] = [{"a": [1, 2]}, "text"] if rank == 1 else [None, None]
    dist.broadcast_object_list(objects, src=1)
    assert objects == [{"a": [1, 2]}, "text"]


def all_gather() -> None:
    """Equal and uneven pieces, lists, tensors and objects."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in MOVED:
        for shape in SHAPES:
            held = everyone(shape, dtype)
            pieces = [torch.empty(shape, dtype=dtype).to("npu") for _ in range(size)]
            dist.all_gather(pieces, held[rank].to("npu"))
            for piece, expected in zip(pieces, held, strict=True):
                same(piece, expected)
            whole = torch.stack(held)
            flat = torch.empty(whole.numel(), dtype=dtype).to("npu")
            dist.all_gather_into_tensor(flat, held[rank].flatten().to("npu"))
            same(flat, whole.flatten())
    uneven = [torch.arange(float(r + 1)) * (r + 1) for r in range(size)]
    pieces = [torch.empty(r + 1).to("npu") for r in range(size)]
    dist.all_gather(pieces, uneven[rank].to("npu"))
    for piece, expected in zip(pieces, uneven, strict=True):
        same(piece, expected)
    objects: list[object] = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "long": "x" * 100 * rank})
    assert objects == [{"rank": r, "long": "x" * 100 * r} for r in range(size)]


def uneven_tensors() -> None:
    """torch_npu's own collectives for pieces of different sizes."""
    rank, size = dist.get_rank(), dist.get_world_size()
    counts = [r + 1 for r in range(size)]
    whole = torch.arange(2.0 * sum(counts)).reshape(-1, 2)
    gathered = torch.empty_like(whole).to("npu")
    mine = torch.split(whole, counts)[rank]
    torch_npu.distributed.all_gather_into_tensor_uneven(gathered, mine.to("npu"), counts)
    same(gathered, whole)
    scattered = torch.empty(counts[rank], 2).to("npu")
    torch_npu.distributed.reduce_scatter_tensor_uneven(scattered, whole.to("npu"), counts)
    same(scattered, mine * size)


def reduce_scatter() -> None:
    """Equal and uneven pieces, in lists and as one tensor."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in REDUCED:
        held = torch.stack(everyone((size, 5), dtype))
        expected = held.sum(0, dtype=dtype)[rank]
        got = torch.empty(5, dtype=dtype).to("npu")
        dist.reduce_scatter(got, [piece.to("npu") for piece in held[rank]])
        same(got, expected)
        dist.reduce_scatter_tensor(got, held[rank].flatten().to("npu"), dist.ReduceOp.MAX)
        same(got, held.amax(0)[rank])
    counts = [2 * r + 1 for r in range(size)]
    pieces = [torch.arange(float(count)) + rank for count in counts]
    got = torch.empty(counts[rank]).to("npu")
    dist.reduce_scatter(got, [piece.to("npu") for piece in pieces])
    same(got, torch.arange(float(counts[rank])) * size + sum(range(size)))


def all_to_all() -> None:
    """Equal and uneven pieces."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in MOVED:
        held = torch.stack(everyone((size, 4), dtype))
        got = torch.empty(size, 4, dtype=dtype).to("npu")
        dist.all_to_all_single(got, held[rank].to("npu"))
        same(got, held[:, rank])
        pieces = [torch.empty(4, dtype=dtype).to("npu") for _ in range(size)]
        dist.all_to_all(pieces, [piece.to("npu") for piece in held[rank]])
        same(torch.stack(pieces), held[:, rank])
    # Rank r sends (r + p) rows to rank p, so it sends none to itself where both are 0.
    rows = [[r + p for p in range(size)] for r in range(size)]
    mine = torch.full((sum(rows[rank]), 3), float(rank)).to("npu")
    received = [rows[r][rank] for r in range(size)]
    got = torch.empty(sum(received), 3).to("npu")
    dist.all_to_all_single(got, mine, received, rows[rank])
    same(got, torch.cat([torch.full((count, 3), float(r)) for r, count in enumerate(received)]))


def gather_and_scatter() -> None:
    """One rank has all pieces."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        for dtype in (torch.float32, torch.int64, torch.bfloat16):
            held = torch.stack(everyone((3, 2), dtype))
            pieces = [torch.empty(3, 2, dtype=dtype).to("npu") for _ in range(size)]
            dist.gather(held[rank].to("npu"), pieces if rank == root else None, dst=root)
            if rank == root:
                same(torch.stack(pieces), held)
            got = torch.empty(3, 2, dtype=dtype).to("npu")
            dist.scatter(got, [p.to("npu") for p in held] if rank == root else None, src=root)
            same(got, held[rank])
    objects: list[object] = [None] * size
    dist.gather_object(("from", rank), objects if rank == 0 else None, dst=0)
    assert rank != 0 or objects == [("from", r) for r in range(size)]
    mine: list[object] = [None]
    dist.scatter_object_list(mine, [f"to {r}" for r in range(size)] if rank == 0 else None, src=0)
    assert mine == [f"to {rank}"]


def coalesced() -> None:
    """Several collectives as one, and those of torch's functional interface."""
    from torch.distributed import _functional_collectives as functional  # noqa: PLC0415
    from torch.distributed.distributed_c10d import _coalescing_manager  # noqa: PLC0415

    rank, size = dist.get_rank(), dist.get_world_size()
    group = dist.group.WORLD
    assert group is not None
    first, second = torch.full((4,), rank + 1.0).to("npu"), torch.full((3, 3), 2.0 * rank).to("npu")
    with _coalescing_manager(group, torch.device("npu", torch_npu.npu.current_device())):
        dist.all_reduce(first)
        dist.all_reduce(second)
    same(first, torch.full((4,), size * (size + 1) / 2))
    same(second, torch.full((3, 3), size * (size - 1.0)))

    x = torch.arange(2.0 * size) + rank
    same(
        functional.all_reduce(x.to("npu"), "sum", group), x * size + sum(range(size)) - rank * size
    )
    gathered = functional.all_gather_tensor(x.to("npu"), 0, group)
    same(gathered, torch.cat([torch.arange(2.0 * size) + r for r in range(size)]))
    scattered = functional.reduce_scatter_tensor(x.to("npu"), "sum", 0, group)
    same(scattered, (torch.arange(2.0 * size) * size + sum(range(size)))[2 * rank : 2 * rank + 2])
    swapped = functional.all_to_all_single(x.to("npu"), None, None, group)
    same(swapped, torch.cat([torch.arange(2.0) + 2 * rank + r for r in range(size)]))
