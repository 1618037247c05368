"""The script that shows a difference alone, with the operator's inputs in a file beside it."""

from __future__ import annotations

import subprocess
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.compare.modes import is_compiled
from opwright.compare.tensors import load_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from opwright.compare.judge import Difference, Run, Verdict
    from opwright.compare.processes import Program
    from opwright.compare.record import OperatorCall, Value

__all__ = ["Script", "write_script"]

ALONE = ("operator", "constant", "prefix")  # the kinds of differences that an operator has alone
# Namespaces that torch and torch_npu register themselves.
BUILT_IN = frozenset({"aten", "prims", "npu", "higher_order", "quantized", "c10d", "air"})
LIMIT = 600  # seconds for a script, which takes some to import torch_npu

IMPORTS = """\
from pathlib import Path

import torch
import torch_npu"""
TORCHAIR = """\
import torchair

config = torchair.CompilerConfig()
config.mode = {!r}
backend = torchair.get_npu_backend(compiler_config=config)"""
BACKENDS = {
    "max-autotune": TORCHAIR.format("max-autotune"),
    "reduce-overhead": TORCHAIR.format("reduce-overhead"),
    "npugraph_ex": "\nbackend = 'npugraph_ex'",
}
INPUTS = """\
saved = torch.load(Path(__file__).with_suffix('.pt'))
t = [tensor.to(device) for tensor, device in saved]"""
COMPILED = """\
with torch.no_grad():
    want = operator(*(each.clone() for each in t))
    compiled = torch.compile(operator, backend=backend, dynamic=False)
    got = compiled(*(each.clone() for each in t))"""
CAPTURED = """\
want = eager(*(each.clone() for each in t))
kept = [each.clone() for each in t]
operator(*(each.clone() for each in t))  # whatever is made at a first call
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    got = operator(*kept)
graph.replay()"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script that was written.

    Parameters
    ----------
    shows_it
        Whether it failed, as it should, when it was run.
    """

    file: str
    shows_it: bool


def write_script(
    verdict: Verdict,
    got: Run,
    program: Program,
    folder: Path,
    environment: Mapping[str, str],
) -> Script | None:
    """Write the script for the first difference of a mode and run it; None if none can show it."""
    difference = verdict.difference
    if difference is None or difference.operator is None or difference.kind not in ALONE:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{verdict.mode}.py"
    inputs = [load(got, each) for each in difference.operator.inputs]
    torch.save(inputs, file.with_suffix(".pt"))
    file.write_text("\n".join(lines_of(verdict, difference, program)) + "\n", encoding="utf-8")
    return Script(file=str(file), shows_it=fails_an_assertion(program.python[0], file, environment))


def fails_an_assertion(python: str, file: Path, environment: Mapping[str, str]) -> bool:
    """Run a script; return whether an assertion of it fails. One that takes too long is ended."""
    try:
        done = subprocess.run(
            [python, str(file)],
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return "AssertionError" in done.stderr and done.returncode == 1


def load(run: Run, value: Value) -> tuple[torch.Tensor, str]:
    """Return a tensor and the device that it was on."""
    return load_tensor(run.folder, value), value.device


def lines_of(verdict: Verdict, difference: Difference, program: Program) -> Iterator[str]:
    """Yield the lines of a script."""
    operator = difference.operator
    assert operator is not None
    yield f'"""{verdict.mode} gives other results than eager: {operator.operator}.'
    yield ""
    yield f"source: {operator.source or 'none'}"
    yield f"differs: {difference.name} {difference.text}"
    yield ""
    yield f"    opwright run -- python {verdict.mode}.py"
    yield '"""'
    yield ""
    yield IMPORTS
    if verdict.mode in BACKENDS:
        yield BACKENDS[verdict.mode]
    yield ""
    if operator.operator.partition(".")[0] not in BUILT_IN:
        yield "from opwright.compare.definitions import load_definitions"
        yield ""
        yield f"# It registers {operator.operator}; its step is not run."
        yield f"load_definitions({str(program.file.resolve())!r}, step={program.step!r})"
        yield ""
    yield INPUTS
    yield from ("", "")
    yield from (
        lines_of_graph(operator) if operator.graph else lines_of_operator("operator", operator)
    )
    yield from ("", "")
    if not is_compiled(verdict.mode) and difference.eager is not None:
        yield from lines_of_operator("eager", difference.eager)
        yield from ("", "")
    yield COMPILED if is_compiled(verdict.mode) else CAPTURED
    yield "torch.testing.assert_close(got, want, equal_nan=True)"
    yield f"print('{verdict.mode} agrees with eager')"


def lines_of_operator(name: str, operator: OperatorCall) -> Iterator[str]:
    """Yield a function that calls an operator; it returns what the call has written, too."""
    written = [
        place
        for place, each in enumerate(operator.inputs)
        if any(output.name == f"{each.name} (written)" for output in operator.outputs)
    ]
    yield f"def {name}(*t):"
    yield f"    returned = {operator.text}"
    results = ["returned", *(f"t[{place}]" for place in written)]
    yield f"    return {', '.join(results)}{',' if len(results) == 1 else ''}"


def lines_of_graph(operator: OperatorCall) -> Iterator[str]:
    """Yield a function that is a graph."""
    yield "from torch import device, inf, nan"
    yield ""
    code = textwrap.dedent(operator.graph).strip().replace("def forward(self, ", "def operator(")
    yield from code.splitlines()
