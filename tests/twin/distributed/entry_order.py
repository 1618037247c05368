"""Collectives of two groups that the ranks enter in the same order, and in different order."""

from __future__ import annotations

import torch
import torch_npu
from torch import distributed as dist
from torch.distributed.distributed_c10d import _get_default_store

from opwright.twin.order import take_findings


def enter(groups: list[dist.ProcessGroup]) -> list[str]:
    """Reduce once in each group, without a wait in between; return what all ranks found."""
    works = [
        dist.all_reduce(torch.ones(4, device="npu"), group=group, async_op=True) for group in groups
    ]
    for work in works:
        work.wait()
    torch_npu.npu.synchronize()
    dist.barrier()
    texts = "\n".join(finding.text for finding in take_findings())
    store = _get_default_store()
    store.set(f"findings of rank {dist.get_rank()}", texts)
    dist.barrier()
    found = [
        store.get(f"findings of rank {rank}").decode() for rank in range(dist.get_world_size())
    ]
    return [each for each in found if each]


def different_order() -> None:
    """It is found at the later launch, with the lines of both ranks."""
    groups = [dist.new_group(), dist.new_group()]
    assert enter(groups) == []
    assert enter(groups) == []
    found = enter(groups[::-1] if dist.get_rank() == 1 else groups)
    assert found
    assert all("ranks enter collectives in different order" in each for each in found)
    assert all(each.count("in enter") >= len(groups) for each in found)


def parts_in_any_order() -> None:
    """Groups that share no two ranks have no order."""
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1]), dist.new_group([0, 2]), dist.new_group([1, 2])]
    own = [
        each for each, ranks in zip(groups, [(0, 1), (0, 2), (1, 2)], strict=True) if rank in ranks
    ]
    assert enter(own) == []
    assert enter(own[::-1] if rank == 0 else own) == []


def sends_in_any_order() -> None:
    """Sends and receives of one group beside the collectives of another one."""
    groups = [dist.new_group(), dist.new_group()]
    assert enter(groups) == []
    x = torch.ones(4, device="npu")
    if dist.get_rank() == 0:
        dist.isend(x, 1, group=groups[1])
        dist.all_reduce(torch.ones(4, device="npu"), group=groups[0])
    else:
        dist.all_reduce(torch.ones(4, device="npu"), group=groups[0])
        dist.irecv(torch.empty(4, device="npu"), 0, group=groups[1])
    assert enter(groups) == []
