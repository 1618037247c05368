"""Operators that callers cannot use at once, and sound ones that share something rightly."""

from __future__ import annotations

import threading
import time

import torch

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "one_scratch": "concurrency/different-results",
    "last_seen": "concurrency/different-results",
    "not_reentrant": "concurrency/raises",
    "default_stream": "concurrency/wrong-stream",
}

ops = ow.OperatorSet("corpus_concurrency")
SAMPLES = [ow.sample(x=ow.tensor(64))]

library = torch.library.Library("corpus_concurrency_lib", "DEF")
foreign = ow.OperatorSet("corpus_concurrency_lib", existing=True)


def double(x):
    return x * 2


def add(name, function):
    """Define an operator of a library by its PrivateUse1 kernel."""
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, function, "PrivateUse1")
    library.impl(name, double, "CPU")
    library.impl(name, torch.empty_like, "Meta")
    foreign.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES)(double)


scratch = torch.empty(1 << 16)


@ops.operator("one_scratch(Tensor x) -> Tensor", samples=SAMPLES)
def one_scratch(x):
    return x * 2


@kernel("aclnnOneScratch(const aclTensor *x, aclTensor *out)")
def one_scratch_kernel(x, out):
    part = scratch[: x.numel()].view(x.shape)
    part.copy_(x)
    time.sleep(1e-3)  # other kernels run in between, as they would without the GIL
    out.copy_(part * 2)


class Shared:
    value = None


def last_seen(x):
    Shared.value = x
    time.sleep(1e-3)
    return Shared.value * 2


add("last_seen", last_seen)

is_running = threading.Event()


def not_reentrant(x):
    if is_running.is_set():
        raise RuntimeError("the operator runs already")
    is_running.set()
    time.sleep(1e-3)
    is_running.clear()
    return x * 2


add("not_reentrant", not_reentrant)


def default_stream(x):
    with torch.npu.stream(torch.npu.default_stream()):
        return x * 2


add("default_stream", default_stream)


# Sound.


@ops.operator("scratch_of_thread(Tensor x) -> Tensor", samples=SAMPLES)
def scratch_of_thread(x):
    return x * 2


of_thread = threading.local()


@kernel("aclnnScratchOfThread(const aclTensor *x, aclTensor *out)")
def scratch_of_thread_kernel(x, out):
    if not hasattr(of_thread, "scratch"):
        of_thread.scratch = torch.empty(1 << 16)
    part = of_thread.scratch[: x.numel()].view(x.shape)
    part.copy_(x)
    time.sleep(1e-5)
    out.copy_(part * 2)


lock = threading.Lock()


@ops.operator("scratch_with_lock(Tensor x) -> Tensor", samples=SAMPLES)
def scratch_with_lock(x):
    return x * 2


@kernel("aclnnScratchWithLock(const aclTensor *x, aclTensor *out)")
def scratch_with_lock_kernel(x, out):
    with lock:
        part = scratch[: x.numel()].view(x.shape)
        part.copy_(x)
        out.copy_(part * 2)


factors = {}


def cached_factor(x):
    """Every caller writes the same value."""
    if x.shape not in factors:
        factors[x.shape] = 2.0
    return x * factors[x.shape]


def own_stream(x):
    """A side stream that the current one waits for, after the current one.

    The result is of the current stream: a captured graph cannot keep one of another stream.
    """
    side = torch.npu.Stream()
    current = torch.npu.current_stream()
    result = torch.empty_like(x)
    side.wait_stream(current)
    with torch.npu.stream(side):
        torch.mul(x.detach(), 2, out=result)
    current.wait_stream(side)
    return result


add("cached_factor", cached_factor)
add("own_stream", own_stream)
