"""Operators that use streams of their own without order, and sound ones that use them rightly."""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "side_stream_too_early": "order/unordered",
    "result_too_early": "order/unordered",
    "temporary_freed": "order/unordered",
    "argument_still_read": "order/unordered",
    "pinned_too_early": "order/unordered",
}
# They wait for pinned memory on the host, which no capture takes.
NOT_FOR = ("compiled",)

SAMPLES = [ow.sample(x=ow.tensor(64))]
library = torch.library.Library("corpus_order", "DEF")
foreign = ow.OperatorSet("corpus_order", existing=True)


def double(x):
    return x * 2


def add(name, function):
    """Define an operator of a library by its PrivateUse1 kernel."""
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, function, "PrivateUse1")
    library.impl(name, double, "CPU")
    library.impl(name, torch.empty_like, "Meta")
    foreign.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES)(double)


def side_stream_too_early(x):
    """The side stream does not wait for what has made x."""
    current, side = torch.npu.current_stream(), torch.npu.Stream()
    result = torch.empty_like(x)
    with torch.npu.stream(side):
        torch.mul(x.detach(), 2, out=result)
    current.wait_stream(side)
    return result


def result_too_early(x):
    """The current stream does not wait for the result."""
    current, side = torch.npu.current_stream(), torch.npu.Stream()
    result = torch.empty_like(x)
    side.wait_stream(current)
    with torch.npu.stream(side):
        torch.mul(x.detach(), 2, out=result)
    return result


def temporary_freed(x):
    """A temporary of the current stream is freed while the side stream reads it."""
    current, side = torch.npu.current_stream(), torch.npu.Stream()
    twice = x * 2
    kept = torch.empty_like(x)
    side.wait_stream(current)
    with torch.npu.stream(side):
        kept.copy_(twice)
    result = twice.clone()
    kept.record_stream(side)
    return result


def argument_still_read(x):
    """The caller may write x as soon as the current stream goes on."""
    current, side = torch.npu.current_stream(), torch.npu.Stream()
    seen = torch.empty_like(x)
    seen.record_stream(side)
    side.wait_stream(current)
    with torch.npu.stream(side):
        seen.copy_(x.detach())
    return x * 2


def pinned_too_early(x):
    """The host reads the copy before it has been waited for."""
    host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
    host.copy_(x.detach(), non_blocking=True)
    (host * 2).sum().item()
    torch.npu.current_stream().synchronize()
    return x * 2


for function in (
    side_stream_too_early,
    result_too_early,
    temporary_freed,
    argument_still_read,
    pinned_too_early,
):
    add(function.__name__, function)


# Sound.


def both_wait(x):
    """Both streams wait for each other."""
    current, side = torch.npu.current_stream(), torch.npu.Stream()
    result = torch.empty_like(x)
    side.wait_stream(current)
    with torch.npu.stream(side):
        torch.mul(x.detach(), 2, out=result)
    current.wait_stream(side)
    return result


def temporary_recorded(x):
    """The allocator keeps the temporary until the side stream has read it, as it must x."""
    current, side = torch.npu.current_stream(), torch.npu.Stream()
    twice = x * 2
    kept = torch.empty_like(x)
    side.wait_stream(current)
    with torch.npu.stream(side):
        kept.copy_(twice)
    twice.record_stream(side)
    kept.record_stream(side)
    return x + x


def halves_on_two_streams(x):
    """Two side streams write two halves of one result."""
    current = torch.npu.current_stream()
    result = torch.empty_like(x)
    flat, given = result.view(-1), x.detach().reshape(-1)
    half = flat.numel() // 2
    for part in (slice(None, half), slice(half, None)):
        side = torch.npu.Stream()
        side.wait_stream(current)
        with torch.npu.stream(side):
            torch.mul(given[part], 2, out=flat[part])
        current.wait_stream(side)
    return result


def pinned_in_time(x):
    """The host waits for the copy."""
    host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
    host.copy_(x.detach(), non_blocking=True)
    torch.npu.current_stream().synchronize()
    return (host * 2).to(x.device)


for function in (both_wait, temporary_recorded, halves_on_two_streams, pinned_in_time):
    add(function.__name__, function)
