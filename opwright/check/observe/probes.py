"""The state of the process that calls share, as a table of probes."""

from __future__ import annotations

import gc
import locale
import os
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe import probes_system as system
from opwright.check.observe import probes_torch as of_torch
from opwright.internals.modes import (
    default_device,
    len_torch_dispatch_stack,
    len_torch_function_stack,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PROBES", "SETTINGS", "WRITABLE", "Probe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A part of the process's state.

    Parameters
    ----------
    name
        The name that a finding shows; an expression if `is_expression`.
    read
        Returns something that can be compared.
    write
        Makes it what `read` returned; None where that cannot be done.
    is_setting
        Whether nothing but a call changes it: it counts when it changes once. The rest may change
        when something is loaded or used for the first time, and counts in repeated calls.
    is_drawn
        Whether operators that draw random numbers change it.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object] | None = None
    is_setting: bool = False
    is_drawn: bool = False
    is_expression: bool = False


PROBES: tuple[Probe, ...] = (
    Probe(
        name="torch.is_grad_enabled()",
        read=torch.is_grad_enabled,
        write=torch.set_grad_enabled,
        is_setting=True,
        is_expression=True,
    ),
    Probe(
        name="torch.is_inference_mode_enabled()",
        read=torch.is_inference_mode_enabled,
        is_setting=True,
        is_expression=True,
    ),
    Probe(
        name="torch.get_default_dtype()",
        read=torch.get_default_dtype,
        write=torch.set_default_dtype,
        is_setting=True,
        is_expression=True,
    ),
    Probe(
        name="torch.get_default_device()",
        read=default_device,
        write=of_torch.write_default_device,
        is_setting=True,
        is_expression=True,
    ),
    Probe(
        name="autocast for the NPU",
        read=lambda: of_torch.read_autocast("npu"),
        write=lambda value: of_torch.write_autocast("npu", value),
        is_setting=True,
    ),
    Probe(
        name="autocast for the CPU",
        read=lambda: of_torch.read_autocast("cpu"),
        write=lambda value: of_torch.write_autocast("cpu", value),
        is_setting=True,
    ),
    Probe(
        name="deterministic mode",
        read=of_torch.read_deterministic,
        write=of_torch.write_deterministic,
        is_setting=True,
    ),
    Probe(
        name="torch.get_float32_matmul_precision()",
        read=of_torch.read_matmul_precision,
        write=of_torch.write_matmul_precision,
        is_setting=True,
        is_expression=True,
    ),
    Probe(
        name="torch.get_num_threads()",
        read=torch.get_num_threads,
        write=torch.set_num_threads,
        is_setting=True,
        is_expression=True,
    ),
    Probe(
        name="torch.is_warn_always_enabled()",
        read=torch.is_warn_always_enabled,
        write=torch.set_warn_always,
        is_setting=True,
        is_expression=True,
    ),
    Probe(
        name="number of modes that change what torch does",
        read=lambda: len_torch_function_stack() + len_torch_dispatch_stack(),
        is_setting=True,
    ),
    Probe(
        name="the current stream",
        read=of_torch.read_streams,
        write=of_torch.write_streams,
        is_setting=True,
    ),
    Probe(
        name="the current NPU",
        read=of_torch.read_current_device,
        write=of_torch.write_current_device,
        is_setting=True,
    ),
    Probe(
        name="floating-point control word (rounding, denormal numbers)",
        read=system.read_float_control,
        write=system.write_float_control,
        is_setting=True,
    ),
    # Generators: their seeds are the caller's, also where an operator draws from them.
    Probe(
        name="torch.initial_seed()",
        read=torch.initial_seed,
        is_setting=True,
        is_expression=True,
    ),
    Probe(name="the seed of the NPU's generator", read=of_torch.read_npu_seeds, is_setting=True),
    Probe(
        name="torch's generator for the CPU",
        read=of_torch.read_cpu_generator,
        write=of_torch.write_cpu_generator,
        is_setting=True,
        is_drawn=True,
    ),
    Probe(
        name="the NPU's generator",
        read=of_torch.read_npu_generators,
        write=of_torch.write_npu_generators,
        is_setting=True,
        is_drawn=True,
    ),
    Probe(
        name="the generator of Python's random",
        read=random.getstate,
        write=random.setstate,
        is_setting=True,
        is_drawn=True,
    ),
    Probe(
        name="numpy's global generator",
        read=system.read_numpy_generator,
        write=system.write_numpy_generator,
        is_drawn=True,
    ),
    Probe(
        name="numpy.geterr()",
        read=system.read_numpy_errors,
        write=system.write_numpy_errors,
    ),
    # Python.
    Probe(name="warnings.filters", read=system.read_filters, write=system.write_filters),
    Probe(name="levels of loggers", read=system.read_loggers, write=system.write_loggers),
    Probe(name="sys.path", read=lambda: list(sys.path), write=system.write_path),
    Probe(
        name="sys.getrecursionlimit()",
        read=sys.getrecursionlimit,
        write=sys.setrecursionlimit,
        is_expression=True,
    ),
    Probe(
        name="sys.stdout",
        read=lambda: sys.stdout,
        write=lambda value: setattr(sys, "stdout", value),
        is_expression=True,
    ),
    Probe(
        name="sys.stderr",
        read=lambda: sys.stderr,
        write=lambda value: setattr(sys, "stderr", value),
        is_expression=True,
    ),
    Probe(
        name="gc.isenabled()",
        read=gc.isenabled,
        write=system.write_collection,
        is_expression=True,
    ),
    # The system.
    Probe(
        name="the environment",
        read=system.read_environment,
        write=system.write_environment,
    ),
    Probe(name="os.getcwd()", read=os.getcwd, write=os.chdir, is_expression=True),
    Probe(
        name="the locale",
        read=lambda: locale.setlocale(locale.LC_ALL),
        write=lambda value: locale.setlocale(locale.LC_ALL, value),
    ),
    Probe(
        name="handlers of signals",
        read=system.read_signals,
        write=system.write_signals,
    ),
    Probe(
        name="the mask of new files",
        read=system.read_file_mask,
        write=os.umask,
        is_setting=True,
    ),
    Probe(
        name="the blocked signals",
        read=system.read_signal_mask,
        write=system.write_signal_mask,
        is_setting=True,
    ),
    Probe(name="open files", read=system.read_files),
    Probe(name="threads", read=system.read_threads),
)

# Those that are set back behind all rows.
SETTINGS = tuple(each for each in PROBES if each.is_setting and each.write is not None)
# Those that are set back where nothing is loaded that sets them once.
WRITABLE = tuple(each for each in PROBES if each.write is not None)
