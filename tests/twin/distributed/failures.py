"""A failure between ranks ends in an error that says who and what, not in a wait."""

from __future__ import annotations

import os
import re
import signal
from typing import NoReturn

import pytest
import torch
import torch_npu
from torch import distributed as dist
from torch.distributed.distributed_c10d import _get_default_store


def fails(*texts: str) -> NoReturn:
    """Wait for the device, which has to fail with these texts in their order.

    The process group is of no use then.
    """
    pattern = "(?s)" + ".*".join(map(re.escape, texts))
    with pytest.raises(RuntimeError, match=pattern) as raised:
        torch_npu.npu.synchronize()
    done(raised.value)


def done(error: RuntimeError) -> NoReturn:
    """End this rank well: what was expected has happened."""
    _get_default_store().set(f"rank {dist.get_rank()} is done", "")
    print(f"rank {dist.get_rank()}: {error}", flush=True)  # noqa: T201 - for whoever looks
    os._exit(0)


def wait_for(rank: int) -> None:
    """Wait until another rank has seen what it expected."""
    _get_default_store().wait([f"rank {rank} is done"])


def reduced_without_rank_1() -> torch.Tensor:
    """Let rank 1 die between two collectives; return the tensor of the second one."""
    x = torch.ones(4).to("npu")
    dist.all_reduce(x)
    torch_npu.npu.synchronize()
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(x)
    return x


def peer_is_killed() -> None:
    """Rank 1 dies between two collectives."""
    reduced_without_rank_1()
    fails("rank 1 is gone")


def current_stream_knows() -> None:
    """Who waits for a collective that failed gets the error, not what the memory held."""
    x = reduced_without_rank_1()
    with pytest.raises(RuntimeError, match="rank 1 is gone") as raised:
        x.cpu()
    done(raised.value)


def peer_does_not_come() -> None:
    """Rank 1 never takes part."""
    x = torch.ones(4).to("npu")
    dist.all_reduce(x)
    torch_npu.npu.synchronize()
    if dist.get_rank() == 1:
        wait_for(0)
    dist.all_reduce(x)
    fails("rank 1 did not take part within 10 s")


def different_calls() -> None:
    """The ranks call different collectives."""
    x = torch.ones(4).to("npu")
    if dist.get_rank() == 1:
        dist.reduce(x, 1)
        fails("but this rank HcclReduce(float32, sum, root 1) as collective 1")
    dist.all_reduce(x)
    fails("but this rank HcclReduce(float32, sum, root 1) as collective 1")


def different_sizes() -> None:
    """The ranks call one collective with different sizes."""
    x = torch.ones(4 + dist.get_rank()).to("npu")
    dist.all_gather_into_tensor(torch.empty(2 * x.numel()).to("npu"), x)
    fails("the counts of the ranks do not fit")


def refused_types() -> None:
    """HCCL has no such reductions; the group goes on to work."""
    x = torch.ones(4, dtype=torch.bfloat16).to("npu")
    dist.all_reduce(x, dist.ReduceOp.PRODUCT)
    with pytest.raises(RuntimeError, match="HCCL has no reduction prod for bfloat16"):
        torch_npu.npu.synchronize()
    dist.all_reduce(x)
    assert x.cpu().tolist() == [2.0] * 4


def not_all_ranks_come() -> None:
    """Rank 1 does not make the communicator."""
    if dist.get_rank() == 1:
        wait_for(0)
        os._exit(0)
    late = "rank 1 of 2 did not call the communicator's initialisation within 10 s"
    with pytest.raises(RuntimeError, match=late) as raised:
        dist.all_reduce(torch.ones(4).to("npu"))
    done(raised.value)


def parent_is_killed() -> None:
    """The process that waits for the ranks is killed; `FIFO` is open as long as a rank lives."""
    os.open(os.environ["FIFO"], os.O_WRONLY)
    dist.barrier()
    torch_npu.npu.synchronize()
    if dist.get_rank() == 0:
        os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()
