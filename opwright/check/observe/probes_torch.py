"""Readers and writers of the state that torch and torch_npu keep in the process."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "read_autocast",
    "read_cpu_generator",
    "read_current_device",
    "read_deterministic",
    "read_matmul_precision",
    "read_npu_generators",
    "read_npu_seeds",
    "read_streams",
    "write_autocast",
    "write_cpu_generator",
    "write_current_device",
    "write_default_device",
    "write_deterministic",
    "write_matmul_precision",
    "write_npu_generators",
    "write_streams",
]


def npu() -> Any:  # noqa: ANN401 - a module without types
    """Return the module of the NPU; None where torch_npu is not loaded."""
    return getattr(torch, "npu", None) if "torch_npu" in sys.modules else None


def read_autocast(device: str) -> tuple[bool, torch.dtype] | None:
    """Return whether autocast is on, and to which dtype; None where there is no such device."""
    if device == "npu" and npu() is None:
        return None
    return torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)


def write_autocast(device: str, value: tuple[bool, torch.dtype] | None) -> None:
    """Set autocast."""
    if value is None:
        return
    torch.set_autocast_enabled(device, value[0])
    torch.set_autocast_dtype(device, value[1])


def read_deterministic() -> tuple[bool, bool]:
    """Return whether deterministic algorithms are asked for, and whether that only warns."""
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def write_deterministic(value: tuple[bool, bool]) -> None:
    """Ask for deterministic algorithms, or not."""
    torch.use_deterministic_algorithms(value[0], warn_only=value[1])


def read_matmul_precision() -> str:
    """Return how exact products of float32 matrices are."""
    with quiet_about_tf32():
        return torch.get_float32_matmul_precision()


def write_matmul_precision(name: str) -> None:
    """Set how exact products of float32 matrices are."""
    with quiet_about_tf32():
        torch.set_float32_matmul_precision(name)


@contextmanager
def quiet_about_tf32() -> Iterator[None]:
    """Leave out what some releases of torch say to who asks: that other settings are to come."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Please use the new API settings to control TF32")
        yield


def write_default_device(device: torch.device) -> None:
    """Set the default device; that of torch itself is none."""
    torch.set_default_device(None if device.type == "cpu" else device)


def read_current_device() -> int | None:
    """Return the number of the current NPU."""
    module = npu()
    return None if module is None else int(module.current_device())


def write_current_device(number: int | None) -> None:
    """Set the current NPU."""
    if number is not None:
        npu().set_device(number)


def read_streams() -> dict[str, Any]:
    """Return the current stream of each NPU where it is not the default one."""
    module = npu()
    found: dict[str, Any] = {}
    if module is None:
        return found
    for number in range(module.device_count()):
        try:
            stream = module.current_stream(number)
        except RuntimeError:
            continue  # a device that nobody has used yet has no other stream than its default one
        if stream != module.default_stream(number):
            found[f"npu:{number}"] = stream
    return found


def write_streams(before: Mapping[str, Any]) -> None:
    """Set the current stream of each NPU; the current NPU stays."""
    module = npu()
    if module is None:
        return
    number = module.current_device()
    for name in before.keys() | read_streams().keys():
        # It makes the stream's device the current one.
        module.set_stream(before.get(name) or module.default_stream(name))
    module.set_device(number)


def read_npu_seeds() -> dict[str, int]:
    """Return the seed of each NPU's generator."""
    module = npu()
    if module is None:
        return {}
    module.init()  # there are no generators before
    return {
        f"npu:{number}": int(each.initial_seed())
        for number, each in enumerate(module.default_generators)
    }


def read_npu_generators() -> dict[str, bytes]:
    """Return the state of each NPU's generator."""
    module = npu()
    if module is None:
        return {}
    return {
        f"npu:{number}": bytes(module.get_rng_state(number).numpy().tobytes())
        for number in range(module.device_count())
    }


def write_npu_generators(states: Mapping[str, bytes]) -> None:
    """Set the state of each NPU's generator, its seed included."""
    for name, state in states.items():
        npu().set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8), name)


def read_cpu_generator() -> bytes:
    """Return the state of torch's generator for the CPU."""
    return bytes(torch.get_rng_state().numpy().tobytes())


def write_cpu_generator(state: bytes) -> None:
    """Set the state of torch's generator for the CPU, its seed included."""
    torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
