"""Operators that keep something of each call, and sound ones that keep a bounded part."""

from __future__ import annotations

import collections
import ctypes
import functools
import os
import threading
from pathlib import Path

import torch

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "keeps_tensor": "leaks/device-memory",
    "keeps_numbers": "leaks/python-objects",
    "mallocs": "leaks/host-memory",
    "opens": "leaks/file-descriptors",
    "starts_thread": "leaks/threads",
    "keeps_refused": "leaks/python-objects",
}

ops = ow.OperatorSet("corpus_leaks")
SAMPLES = [ow.sample(x=ow.tensor(3))]

library = torch.library.Library("corpus_leaks_lib", "DEF")
foreign = ow.OperatorSet("corpus_leaks_lib", existing=True)


def double(x):
    return x * 2


def add(name, function, on_cpu=double, meta=torch.empty_like, **fields):
    """Define an operator of a library that leaks in its PrivateUse1 kernel."""
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, function, "PrivateUse1")
    library.impl(name, on_cpu, "CPU")
    library.impl(name, meta, "Meta")
    foreign.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES, **fields)(double)


kept = []
opened = []


def keeps_tensor(x):
    kept.append(x * 2)
    return kept[-1].clone()


def keeps_numbers(x):
    kept.append([len(kept) + 100000])
    return x * 2


def opens(x):
    opened.append(os.dup(0))
    return x * 2


def keeps_refused(x):
    if x.dim() > 1:
        error = ValueError("x has more than one axis")
        kept.append(error)
        raise error
    return x * 2


add("keeps_tensor", keeps_tensor)
add("keeps_numbers", keeps_numbers)
add("opens", opens)
add(
    "keeps_refused",
    keeps_refused,
    shapes={"x": "N"},
    errors=[ow.error("x has more than one axis", x=ow.tensor(2, 2))],
)


@ops.operator("mallocs(Tensor x) -> Tensor", samples=SAMPLES)
def mallocs(x):
    return x * 2


@kernel("aclnnMallocs(const aclTensor *x, aclTensor *out)")
def mallocs_kernel(x, out):
    ctypes.CDLL(None).malloc(64)
    out.copy_(x * 2)


@ops.operator("starts_thread(Tensor x) -> Tensor", samples=SAMPLES)
def starts_thread(x):
    return x * 2


forever = threading.Event()


@kernel("aclnnStartsThread(const aclTensor *x, aclTensor *out)")
def starts_thread_kernel(x, out):
    threading.Thread(target=forever.wait, daemon=True).start()
    out.copy_(x * 2)


def give_back():
    """Close the descriptors and end the threads: other tests follow in this process."""
    while opened:
        os.close(opened.pop())
    forever.set()


# Sound: what is kept is bounded, or given back. Memory of a graph that is captured is not kept:
# it goes with the graph.


def factor(size):
    return torch.full((size,), 2.0, device="npu")


cached_factor = functools.lru_cache(maxsize=64)(factor)


def caches_by_size(x):
    of_size = factor if torch.npu.is_current_stream_capturing() else cached_factor
    return x * of_size(x.numel()).reshape(x.shape)


last = collections.deque(maxlen=8)


def keeps_last_results(x):
    result = x * 2
    if not torch.npu.is_current_stream_capturing():
        last.append(result)  # last[-1] may be another thread's
    return result.clone()


def opens_and_closes(x):
    with Path(os.devnull).open():
        return x * 2


def makes_cycles(x):
    made = [x * 2]
    if not torch.npu.is_current_stream_capturing():
        made.append(made)
    return made[0]


def refuses_matrices(x):
    if x.dim() > 1:
        raise ValueError("x has more than one axis")
    return x * 2


add("caches_by_size", caches_by_size, shapes={"x": "N"})
add("keeps_last_results", keeps_last_results)
add("opens_and_closes", opens_and_closes)
add("makes_cycles", makes_cycles)
add(
    "refuses_matrices",
    refuses_matrices,
    refuses_matrices,
    refuses_matrices,
    shapes={"x": "N"},
    errors=[ow.error("x has more than one axis", x=ow.tensor(2, 2))],
)


@ops.operator("mallocs_and_frees(Tensor x) -> Tensor", samples=SAMPLES)
def mallocs_and_frees(x):
    return x * 2


@kernel("aclnnMallocsAndFrees(const aclTensor *x, aclTensor *out)")
def mallocs_and_frees_kernel(x, out):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    memory = ctypes.c_void_p(libc.malloc(64))
    libc.free(memory)
    out.copy_(x * 2)


@ops.operator("joins_thread(Tensor x) -> Tensor", samples=SAMPLES)
def joins_thread(x):
    return x * 2


@kernel("aclnnJoinsThread(const aclTensor *x, aclTensor *out)")
def joins_thread_kernel(x, out):
    worker = threading.Thread(target=out.copy_, args=(x * 2,))
    worker.start()
    worker.join()
