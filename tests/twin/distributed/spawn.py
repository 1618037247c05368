"""Ranks of a process group, each a fork of one process that has imported torch_npu on the twin."""

from __future__ import annotations

import datetime as dt
import os
import sys
import tempfile
import traceback
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tests.twin.on_twin import CLEAN, PREFIX, ROOT, printed
from tests.twin.on_twin import LIMIT as PATIENCE
from tests.twin.prepared import prepared

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

__all__ = ["check", "finished", "world"]

PACKAGE = "tests.twin.distributed"
# What scenarios import and takes seconds, once for all ranks of all of them.
HEAVY = (
    "torch._dynamo",
    "torch.distributed.checkpoint.state_dict_saver",
    "torch.distributed.fsdp",
    "torch.distributed.tensor.parallel",
)
LIMIT = dt.timedelta(seconds=60)  # of torch's own waits for the store


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
    return prepared(HEAVY, environment).run(PREFIX + script, limit=PATIENCE)


def world(module: str, name: str, size: int) -> None:
    """Fork the ranks, and wait for all of them; ends the process with 1 if one failed."""
    with tempfile.TemporaryDirectory() as folder:
        body = partial(
            be_rank, import_module(module).__dict__[name], f"file://{folder}/store", size
        )
        children = [fork(partial(body, rank)) for rank in range(size)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        print("ranks ended with", codes, file=sys.stderr)  # noqa: T201 - the report
        sys.exit(1)
    print("every rank is done")  # noqa: T201 - the report


def fork(body: Callable[[], None]) -> int:
    """Run `body` in a child, and return its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        body()
        code = 0
    except BaseException:  # noqa: BLE001 - reported, and told by the exit code
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def be_rank(body: Callable[[], None], store: str, size: int, rank: int) -> None:
    """Make the process group, run the scenario, and take the group down again."""
    import torch_npu  # noqa: PLC0415 - only on the twin
    from torch import distributed  # noqa: PLC0415

    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    torch_npu.npu.set_device(rank % torch_npu.npu.device_count())
    distributed.init_process_group(
        os.environ.get("BACKEND", "hccl"),
        init_method=store,
        rank=rank,
        world_size=size,
        timeout=LIMIT,
    )
    body()
    distributed.destroy_process_group()
