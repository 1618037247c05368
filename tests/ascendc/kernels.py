"""Kernels in Ascend C for tests: compiled once per session, launched over tensors.

A kernel file defines functions like `extern "C" __global__ __aicore__ void add(GM_ADDR x, …)`. The
headers are those of the source tree, the runtime is the installed one.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from opwright.ascendc.toolchain import COMPILING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KernelError", "compile_command", "compile_kernel", "library", "run"]

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "native" / "ascendc" / "kernel"
LIBRARIES = ROOT / "opwright" / "cann" / "lib64"
FLAGS = [*COMPILING, "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
_ENTRY = re.compile(r'extern\s+"C"\s+__global__\s[^(;{]*?(\w+)\s*\(')


class KernelError(RuntimeError):
    """A launch failed; the text is the runtime's."""


class _Launch(ctypes.Structure):
    """opwright_ascendc_launch_t of native/ascendc/runtime/ascendc_launch.h."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("interface", ctypes.c_uint64),  # 0: the headers of the source tree have none
        ("name", ctypes.c_char_p),
        ("entry", ctypes.c_void_p),
        ("blocks", ctypes.c_uint32),
        ("kind", ctypes.c_int32),
        ("tiling_key", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("sizes", ctypes.POINTER(ctypes.c_uint32)),
        ("range_count", ctypes.c_uint32),
        ("range_begins", ctypes.POINTER(ctypes.c_void_p)),
        ("range_bytes", ctypes.POINTER(ctypes.c_uint64)),
    )


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="opwright-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _runtime() -> ctypes.CDLL:
    runtime = ctypes.CDLL(str(LIBRARIES / "libascendc_runtime.so"))
    runtime.opwright_ascendc_error.restype = ctypes.c_char_p
    return runtime


def compile_command(source: Path, target: Path, *options: str) -> list[str]:
    """Return the command line that makes a library of a kernel file."""
    link = [f"-L{LIBRARIES}", "-lascendc_runtime", f"-Wl,-rpath,{LIBRARIES}"]
    includes = [f"-I{HEADERS}", f"-I{ROOT / 'native'}"]
    return ["g++", *FLAGS, *includes, *options, str(source), "-o", str(target), *link]


def compile_kernel(source: Path, *options: str) -> Path:
    """Return the library of a kernel file; every extern "C" kernel in it gets an entry.

    Raises
    ------
    KernelError
        The compiler's messages.
    """
    made = _made(source, options)
    if isinstance(made, str):
        raise KernelError(made)
    return made


@functools.cache
def _made(source: Path, options: tuple[str, ...]) -> Path | str:
    """Return the library, or what the compiler said: neither is made twice."""
    text = source.read_text()
    names = list(dict.fromkeys(_ENTRY.findall(text)))
    key = hashlib.sha256("\0".join([str(source), text, *options]).encode()).hexdigest()[:16]
    target = _folder() / f"{source.stem}-{key}.so"
    wrapper = target.with_suffix(".cpp")
    entries = "".join(f"OPWRIGHT_KERNEL_ENTRY({name});\n" for name in names)
    wrapper.write_text(f'#include "{source}"\n{entries}')
    command = compile_command(wrapper, target, *options)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return target if done.returncode == 0 else done.stderr


@functools.cache
def library(source: Path, *options: str) -> ctypes.CDLL:
    """Return the loaded library of a kernel file."""
    _runtime()
    return ctypes.CDLL(str(compile_kernel(source, *options)))


def _packed(value: object, size: int) -> bytes:
    """Return the bytes of one argument, whose parameter takes `size` bytes."""
    match value:
        case torch.Tensor():
            return struct.pack("<Q", value.data_ptr())
        case None:
            return bytes(size)
        case bytes():
            return value
        case bool() | int():
            return (value % (1 << 8 * size)).to_bytes(size, "little")
        case float():
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
        case _:
            return bytes(value)  # type: ignore[call-overload, no-any-return]  # a ctypes object


def run(
    source: Path,
    name: str,
    arguments: Sequence[Any],
    *,
    blocks: int = 1,
    kind: int = -1,
    tiling_key: int = 0,
    checks: bool = False,
    options: Sequence[str] = (),
    interface: int = 0,
) -> None:
    """Launch a kernel over tensors and wait for it.

    CPU tensors run in the calling thread, NPU tensors on the current stream (which is then
    synchronized). Tensors must be contiguous, or what the kernel expects; ints and floats take the
    size of their parameter; bytes and ctypes structures pass as they are.

    Parameters
    ----------
    source
        The kernel file.
    name
        Of the kernel function.
    arguments
        One per parameter.
    blocks
        How many blocks are launched.
    kind
        A KernelKind of core/machine.h; -1 takes what the kernel declares.
    tiling_key
        What TILING_KEY_IS compares with.
    checks
        Whether accesses are checked (OPWRIGHT_KERNEL_CHECKS).
    options
        For the compiler.
    interface
        The number of the headers that the library was compiled with; 0 is not compared.

    Raises
    ------
    KernelError
        The runtime's text of what the kernel did wrong.
    """
    loaded = library(source, *options)
    sizes_of = getattr(loaded, f"{name}_opwright_sizes")
    sizes_of.restype = ctypes.POINTER(ctypes.c_uint32)
    sizes = sizes_of()
    values = [
        ctypes.create_string_buffer(_packed(value, sizes[i]), sizes[i])
        for i, value in enumerate(arguments)
    ]
    count = len(values)
    tensors = [value for value in arguments if isinstance(value, torch.Tensor) and value.numel()]
    launch = _Launch(
        size=ctypes.sizeof(_Launch),
        interface=interface,
        name=name.encode(),
        entry=ctypes.cast(getattr(loaded, f"{name}_opwright_entry"), ctypes.c_void_p),
        blocks=blocks,
        kind=kind,
        tiling_key=tiling_key,
        count=count,
        arguments=(ctypes.c_void_p * count)(*(ctypes.addressof(value) for value in values)),
        sizes=sizes,
        range_count=len(tensors),
        range_begins=(ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors)),
        range_bytes=(ctypes.c_uint64 * len(tensors))(
            *(
                int(t.untyped_storage().nbytes()) - int(t.storage_offset()) * t.itemsize
                for t in tensors
            )
        ),
    )
    _runtime().opwright_ascendc_checks(int(checks))
    if any(tensor.device.type == "npu" for tensor in tensors):
        npu = torch.get_device_module("npu")
        stream = ctypes.c_void_p(npu.current_stream().npu_stream)
        _check(_runtime().opwright_ascendc_launch(ctypes.byref(launch), stream))
        npu.synchronize()
    else:
        _check(_runtime().opwright_ascendc_run(ctypes.byref(launch)))


def _check(code: int) -> None:
    if code != 0:
        raise KernelError(_runtime().opwright_ascendc_error().decode())
