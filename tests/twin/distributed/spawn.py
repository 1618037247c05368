"""Ranks of a process group, each a fork of one process that has imported torch_npu on the twin."""

from __future__ import annotations

import ctypes
import datetime as dt
import os
import signal
import sys
import tempfile
import traceback
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tests.twin.fork_server import fork_server
from tests.twin.on_twin import CLEAN, PREFIX, ROOT, printed
from tests.twin.on_twin import LIMIT as TIME_LIMIT

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

__all__ = ["check", "finished", "world"]

PACKAGE = "tests.twin.distributed"
# Modules that scenarios import and that take seconds, once for all ranks of all of them.
HEAVY = (
    "torch._dynamo",
    "torch.distributed.checkpoint.state_dict_saver",
    "torch.distributed.fsdp",
    "torch.distributed.tensor.parallel",
)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
LIMIT = dt.timedelta(seconds=600)  # of torch's own waits for the store


def check(scenario: str, size: int = 2, **variables: str) -> None:
    """Run the function `module.name` of this package as every rank of a group of `size`."""
    assert "every rank is done" in printed(finished(scenario, size, **variables))


def finished(scenario: str, size: int = 2, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a scenario in which ranks may fail.

    The variables are set after torch_npu was imported; what it reads then has to be left alone.
    """
    module, name = scenario.split(".")
    script = (
        f"import os\nfrom {PACKAGE}.spawn import world\nos.environ |= {variables}\n"
        f"world('{PACKAGE}.{module}', '{name}', {size})\n"
    )
    environment = tuple({**CLEAN, "PYTHONPATH": str(ROOT)}.items())
    return fork_server(HEAVY, environment).run(PREFIX + script, limit=TIME_LIMIT)


def world(module: str, name: str, size: int) -> None:
    """Fork the ranks, and wait for all of them; ends the process with 1 if one failed."""
    with tempfile.TemporaryDirectory() as folder:
        body = partial(be_rank, import_module(module).__dict__[name], folder, size)
        children = [fork(partial(body, rank)) for rank in range(size)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        print("ranks ended with", codes, file=sys.stderr)  # noqa: T201 - the report
        sys.exit(1)
    print("every rank is done")  # noqa: T201 - the report


def fork(body: Callable[[], None]) -> int:
    """Run `body` in a child that ends with this process, and return its process id."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        end_with(parent)
        body()
        code = 0
    except BaseException:  # noqa: BLE001 - reported, also by the exit code
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def end_with(parent: int) -> None:
    """Be killed when the parent ends: only that one is killed when a test takes too long."""
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0 or os.getppid() != parent:
        message = f"process {parent} has ended, or this one cannot be ended with it"
        raise RuntimeError(message)


def be_rank(body: Callable[[], None], folder: str, size: int, rank: int) -> None:
    """Make the process group, run the scenario, and take the group down again.

    The folder is the ranks' own, and removed after them: `FOLDER` for a scenario.
    """
    import torch_npu  # noqa: PLC0415 - only on the twin
    from torch import distributed  # noqa: PLC0415

    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    os.environ["FOLDER"] = folder
    torch_npu.npu.set_device(rank % torch_npu.npu.device_count())
    distributed.init_process_group(
        os.environ.get("BACKEND", "hccl"),
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=size,
        timeout=LIMIT,
    )
    body()
    distributed.destroy_process_group()
