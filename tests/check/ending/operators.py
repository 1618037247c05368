"""Operators that end their process, or spoil it for what comes after, beside sound ones.

All are declared to double; `kernels.cpp` has the kernels of those whose names begin with native.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time

import torch

import opwright as ow
from opwright.twin import kernel

# Operator -> what becomes of row numerics, and what is said of it.
ENDS = {
    "segfault": ("crashed", "SIGSEGV", "in segfault_kernel"),
    "exits": ("crashed", "exited with code 3"),
    "aborts": ("crashed", "SIGABRT", "in aborts_kernel"),
    "killed": ("crashed", "SIGKILL"),
    "loops": ("hung", "not done within", "in loops_kernel"),
    "computes": ("hung", "not done within", "in computes_kernel"),
    "holds_gil": ("hung", "not done within", "in holds_gil_kernel"),
    "deadlocks": ("hung", "not done within", "in deadlocks"),
    "bomb": ("out of memory", "grew by", "in bomb_kernel"),
    "leaves": ("crashed", "SystemExit(5)"),
    "closes": ("crashed", "closed file descriptors"),
    "native_segfault": ("crashed", "SIGSEGV", "aclnnNativeSegfault"),
    "native_loop": ("hung", "not done within"),
}
# They are right, and leave something behind.
SPOILS = ("changes_state", "starts_threads", "forks", "takes_signals", "prints", "goes_away")

ops = ow.OperatorSet("ending")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]
LIBC = ctypes.CDLL(None)
HERE = os.getcwd()
UMASK = os.umask(0o22)  # which is how to read it
os.umask(UMASK)
BLOCK = 1 << 25
CHILDREN = []


def declared(function):
    """Declare an operator by its reference function."""
    name = function.__name__
    return ops.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES)(function)


def twice(x):
    return x * 2


def ends(function):
    """Declare an operator that doubles, and whose kernel does what the function does."""
    name = function.__name__.removesuffix("_kernel")
    words = "".join(map(str.title, name.split("_")))
    ops.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES)(twice)
    return kernel(f"aclnn{words}(const aclTensor *x, aclTensor *out)")(function)


@ends
def segfault_kernel(x, out):
    ctypes.string_at(16)


@ends
def exits_kernel(x, out):
    os._exit(3)


@ends
def aborts_kernel(x, out):
    print("about to abort")
    LIBC.abort()


@ends
def killed_kernel(x, out):
    os.kill(os.getpid(), signal.SIGKILL)


@ends
def loops_kernel(x, out):
    while True:
        pass


@ends
def computes_kernel(x, out):
    # As where the command, which would end the process, is kept from running.
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (used + 1, hard))
    while True:
        pass


@ends
def holds_gil_kernel(x, out):
    ctypes.PyDLL(None).sleep(1000)


@declared
def deadlocks(x):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
    return x * 2


@ends
def bomb_kernel(x, out):
    blocks = []
    while True:
        blocks.append(b"\1" * BLOCK)
        time.sleep(0.01)


@declared
def leaves(x):
    sys.exit(5)


@ends
def closes_kernel(x, out):
    out.copy_(x * 2)
    os.closerange(3, 4096)


for name in ("native_segfault", "native_loop"):
    ops.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES)(twice)


@declared
def changes_state(x):
    os.chdir("/")
    os.environ["OPWRIGHT_ENDING"] = "1"
    os.umask(0)
    sys.stdout = None
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    return x * 2


@declared
def starts_threads(x):
    threading.Thread(target=time.sleep, args=(1000,)).start()
    return x * 2


@declared
def forks(x):
    if not CHILDREN:
        CHILDREN.append(os.fork())
        if CHILDREN == [0]:
            time.sleep(1000)
    return x * 2


@declared
def takes_signals(x):
    if threading.current_thread() is threading.main_thread():  # a kernel is another
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(1000)  # far off: what comes after finds it, however busy the machine is
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return x * 2


@declared
def prints(x):
    print("*" * 1_000_000)
    LIBC.puts(b"in C")
    return x * 2


@declared
def goes_away(x):
    sys.stdout.close()
    return x * 2


@declared
def sound(x):
    assert os.getcwd() == HERE
    assert "OPWRIGHT_ENDING" not in os.environ
    assert os.umask(UMASK) == UMASK
    assert sys.stdout is not None
    assert torch.get_default_dtype() is torch.float32
    assert not torch.are_deterministic_algorithms_enabled()
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    if threading.current_thread() is threading.main_thread():  # a kernel is another
        assert torch.is_grad_enabled()
    return x * 2
