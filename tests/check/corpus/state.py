"""Operators that change the state of the process, and sound ones that set it back."""

from __future__ import annotations

import ctypes
import io
import os
import random
import signal
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import torch

import opwright as ow

BROKEN = {
    "turns_gradients_off": "state/changed",
    "returns_early": "state/changed",
    "computes_in_float64": "state/changed",
    "allocates_by_default": "state/changed",
    "seeds_the_generator": "state/changed",
    "seeds_python": "state/changed",
    "seeds_the_npu": "state/changed",
    "draws_in_secret": "state/changed",
    "turns_autocast_off": "state/changed",
    "turns_the_mode_on": "state/changed",
    "one_thread": "state/changed",
    "changes_device": "state/changed",
    "changes_stream": "state/changed",
    "sets_variable": "state/changed",
    "sets_variable_in_c": "state/changed",
    "changes_stream_elsewhere": "state/changed",
    "silences_warnings": "state/changed",
    "seeds_numpy": "state/changed",
    "extends_path": "state/changed",
    "replaces_output": "state/changed",
    "hides_new_files": "state/changed",
    "blocks_signals": "state/changed",
    "handles_signals_in_c": "state/changed",
    "draws_though_deterministic": "state/changed",
    "handles_signals": "state/changed",
    "flushes_denormals": "state/changed",
    "changes_folder": "state/changed",
    "keeps_a_file": "state/changed",
    "keeps_a_thread": "state/changed",
    "forgets_when_refusing": "state/changed",
}
# Their calls keep files and threads, which row leaks and the caches of others would meet.
NOT_FOR = ("leaks",)

ops = ow.OperatorSet("corpus_state", existing=True)
LIBRARY = torch.library.Library("corpus_state", "DEF")
SAMPLES = [ow.sample(x=ow.tensor(3))]
kept: list[object] = []


def operator(function, tags=(), **fields):
    """Register a kernel whose reference is the operator without the detour."""
    name = function.__name__
    LIBRARY.define(f"{name}(Tensor x) -> Tensor", tags=tags)
    for key in ("CPU", "PrivateUse1"):
        LIBRARY.impl(name, function, key)
    LIBRARY.impl(name, torch.empty_like, "Meta")
    ops.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES, **fields)(double)
    return function


def double(x):
    if x.numel() > 1000:
        message = "x has more than 1000 elements"
        raise ValueError(message)
    return x * 2


@operator
def turns_gradients_off(x):
    torch.set_grad_enabled(False)
    return x * 2


@operator
def computes_in_float64(x):
    torch.set_default_dtype(torch.float64)
    return (x * torch.full((1,), 2.0, device=x.device)).to(x.dtype)


def returns_early(x):
    before = torch.get_default_dtype()
    torch.set_default_dtype(x.dtype)
    result = torch.empty_like(x)
    if x.numel():
        result.copy_(x * torch.full((1,), 2.0, device=x.device))
        torch.set_default_dtype(before)
    return result


operator(returns_early, dtypes="float32 float16")


@operator
def allocates_by_default(x):
    torch.set_default_device("meta")
    return x * 2


@operator
def seeds_the_generator(x):
    torch.manual_seed(1234)
    return x * 2


@operator
def seeds_python(x):
    random.seed(1234)
    return x * 2


@operator
def seeds_the_npu(x):
    torch.npu.manual_seed(1234)
    return x * 2


@operator
def draws_in_secret(x):
    kept[:] = [torch.rand(1)]
    return x * 2


@operator
def turns_autocast_off(x):
    torch.set_autocast_dtype("npu", torch.bfloat16)
    return x * 2


@operator
def turns_the_mode_on(x):
    torch.use_deterministic_algorithms(mode=True)
    return x * 2


@operator
def one_thread(x):
    torch.set_num_threads(torch.get_num_threads() + 1)
    return x * 2


@operator
def changes_device(x):
    torch.npu.set_device(1)
    return x * 2


@operator
def changes_stream(x):
    torch.npu.set_stream(torch.npu.Stream())
    return x * 2


@operator
def changes_stream_elsewhere(x):
    device = torch.npu.current_device()
    torch.npu.set_stream(torch.npu.Stream(device=1))
    torch.npu.set_device(device)
    return x * 2


@operator
def sets_variable(x):
    os.environ["CORPUS_STATE"] = "1"
    return x * 2


@operator
def sets_variable_in_c(x):
    ctypes.CDLL(None).setenv(b"CORPUS_STATE_C", b"1", 1)
    return x * 2


@operator
def silences_warnings(x):
    warnings.filterwarnings("ignore")
    return x * 2


@operator
def seeds_numpy(x):
    np.random.seed(0)  # noqa: NPY002 - that is what is tested
    return x * 2


@operator
def extends_path(x):
    if "corpus_state" not in sys.path:
        sys.path.append("corpus_state")
    return x * 2


@operator
def replaces_output(x):
    sys.stdout = OUTPUT
    return x * 2


OUTPUT = io.StringIO()


@operator
def hides_new_files(x):
    os.umask(0o077)
    return x * 2


@operator
def blocks_signals(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    return x * 2


@operator
def handles_signals_in_c(x):
    ctypes.CDLL(None).signal(int(signal.SIGUSR1), ctypes.c_void_p(1))  # SIG_IGN
    return x * 2


@operator
def handles_signals(x):
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    return x * 2


@operator
def flushes_denormals(x):
    torch.set_flush_denormal(True)
    return x * 2


@operator
def changes_folder(x):
    os.chdir(os.sep)
    return x * 2


@operator
def keeps_a_file(x):
    kept.append(os.fdopen(os.open(__file__, os.O_RDONLY)))
    return x * 2


@operator
def keeps_a_thread(x):
    end = threading.Event()
    thread = threading.Thread(target=end.wait, daemon=True)
    thread.start()
    kept.append((end, thread))
    return x * 2


def draws_though_deterministic(x):
    kept[:] = [torch.rand(1)]
    return x * 2


# The tag is about last bits, not about numbers that are drawn.
operator(draws_though_deterministic, tags=(torch.Tag.nondeterministic_bitwise,))


def forgets_when_refusing(x):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    result = double(x)
    torch.set_default_dtype(before)
    return result


operator(forgets_when_refusing, errors=[ow.error("more than 1000", x=ow.tensor(1001))])


def give_back():
    """Close files and end threads that the operators keep."""
    for each in kept:
        if isinstance(each, tuple):
            each[0].set()
        elif hasattr(each, "close"):
            each.close()
    kept.clear()
    ctypes.CDLL(None).unsetenv(b"CORPUS_STATE_C")


# Sound.


def sets_back(x):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return double(x)
    finally:
        torch.set_default_dtype(before)


operator(sets_back, errors=[ow.error("more than 1000", x=ow.tensor(1001))])


@operator
def without_gradients(x):
    generators = torch.random.fork_rng([0, 1], device_type="npu")
    with torch.no_grad(), warnings.catch_warnings(), generators:
        warnings.simplefilter("ignore")
        torch.manual_seed(0)  # of all devices
        kept[:1] = [torch.rand(1)]
        return x * 2


@operator
def loads_once(x):
    """Open a file and set a variable when it is first called, as loading a library does."""
    if "CORPUS_STATE_LOADED" not in loaded:
        loaded["CORPUS_STATE_LOADED"] = os.fdopen(os.open(__file__, os.O_RDONLY))
        os.environ["CORPUS_STATE_LOADED"] = "1"
    return x * 2


loaded: dict[str, object] = {}


@operator
def reads_a_file(x):
    with Path(__file__).open(encoding="utf-8") as file:
        return x * (2 if file.read(1) else 0)


kit = ow.OperatorSet("corpus_state_kit")


@kit.operator(
    "noisy(Tensor x) -> Tensor",
    dtypes="float32",
    aclnn=False,
    deterministic=False,
    tags=("nondeterministic_seeded",),
    samples=SAMPLES,
)
def noisy(x):
    return x + torch.rand(x.shape, dtype=x.dtype, device=x.device)  # the generators move on
