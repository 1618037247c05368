"""Kernels by themselves, and functions compiled on the twin, many in one process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from opwright.graph_engine.lookup import find_kernel
from tests.twin.on_twin import output

if TYPE_CHECKING:
    from collections.abc import Mapping

PRELUDE = """
import json
import torchair
from torch.nn import functional

torch.manual_seed(7)

def on_device(values):
    return [value.npu() if isinstance(value, torch.Tensor) else value for value in values]

def comparable(results):
    # Floats of one byte are compared exactly; a converter may call scales float8_e8m0 that eager
    # mode calls bytes.
    return torch.utils._pytree.tree_map(
        lambda each: each.view(torch.uint8)
        if isinstance(each, torch.Tensor) and each.is_floating_point() and each.itemsize == 1
        else each,
        results,
    )

def error_of(function, runs, dynamic):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    compiled = torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)
    for run in runs:
        if not dynamic:
            torch._dynamo.reset()
        try:
            torch.testing.assert_close(
                comparable(compiled(*run)), comparable(function(*run)),
                rtol=1e-5, atol=1e-5, equal_nan=True,
            )
        except Exception as error:
            shapes = [list(value.shape) for value in run if isinstance(value, torch.Tensor)]
            return f"{shapes}: {type(error).__name__}: {error}"
    return ""
"""

# For scripts that compile themselves.
# TorchAir gives g++ two minutes for a class, which takes half a minute of processor time: on a busy
# machine that is too little.
MORE_TIME = """
import subprocess
import types
from torchair._ge_concrete_graph import custom_op_compiler

def run_longer(command, *, timeout, **options):
    return subprocess.run(command, timeout=10 * timeout, **options)

custom_op_compiler.subprocess = types.SimpleNamespace(**vars(subprocess) | {"run": run_longer})
"""

COMPILE = """
import torchair

torch.manual_seed(7)

def compiled(function, dynamic=False):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)

def drawn(*sizes, dtype=torch.float16):
    return torch.randn(sizes).to(dtype).npu()
"""


def errors(
    functions: Mapping[str, str], *, arguments: str, dynamic: bool, definitions: str = ""
) -> dict[str, str]:
    """Return for each function why it does not answer what it answers eagerly; "" if it does.

    Parameters
    ----------
    functions
        Name -> Python source of a function.
    arguments
        Python source of a list of argument lists that each function is run with.
    dynamic
        Compile once for all sizes, instead of once for each.
    definitions
        Python source that stands before the functions.
    """
    table = ",\n".join(f"{name!r}: {source}" for name, source in functions.items())
    script = f"""
runs = [on_device(run) for run in {arguments}]
with torch.no_grad():
    found = {{
        name: error_of(function, runs, {dynamic}) for name, function in {{{table}}}.items()
    }}
print(json.dumps(found))
"""
    printed = output(PRELUDE + definitions + script)
    return cast("dict[str, str]", json.loads(printed.splitlines()[-1]))


def call(name: str, *inputs: object, **attributes: object) -> Any:  # noqa: ANN401 - what kernels answer
    """Run the kernel of a GE type."""
    kernel = find_kernel(name)
    assert kernel is not None, name
    return kernel.function(*inputs, **attributes)
