"""The twin: CANN's libraries on the CPU, beneath the unmodified torch_npu.

Importing this package *arms* the twin: the first import of torch_npu in this process, by name or by
torch's own loading of its back ends, is preceded by the activation of the twin. Nothing is loaded
before that, so that the parts of the package can be used by tools that never touch torch::

    import opwright.twin
    import torch                     # loads torch_npu, and so the twin

    x = torch.ones(4).npu()

In a process that `opwright run` or `set_env.sh` started, the twin is there already and the import
changes nothing. `OPWRIGHT_TWIN=0` (set by `opwright run --real`) keeps the import from arming.

settings      what a user can choose, with the rules for each value
toolkit       where the built libraries are
environment   settings -> environment variables (pure)
autoload      torch without its back ends
activation    the twin in this process
hardware      is there a real CANN with a real NPU?
enabling      the twin as the CANN of a Python environment; site_module: what it lays there
launch        the command line of `opwright run` -> the process to start
options       options of verbs that run on the twin; text: what they show
guard         guarded memory of this process
order         what its streams do with the same memory although nothing orders it
symbols       the names in a shared library
npu_smi       the queries of `npu-smi` that set-up scripts make
doctor        what is installed, what is wrong, how to mend it
user_kernels  reference functions that stand in for custom operators' kernels
msprof, dump  CANN's files of profiles; its data dumps
"""

from __future__ import annotations

import os

from opwright.twin.activation import activate, arm
from opwright.twin.environment import SWITCH
from opwright.twin.settings import TwinSettings
from opwright.twin.user_kernels import generator, kernel

__all__ = ["TwinSettings", "activate", "generator", "kernel"]


def __dir__() -> list[str]:
    return __all__


if os.environ.get(SWITCH) != "0":
    arm()
