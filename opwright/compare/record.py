"""A process's record of a run: the calls of the step, with their operators and tensors.

`record.json` is written at the end of the run, or when the mode cannot run the step. Tensors are
files of the same folder, named by their content: equal tensors are one file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "NO_STEP",
    "Failure",
    "OperatorCall",
    "Record",
    "StepCall",
    "Value",
    "read_record",
    "write_record",
]

FILE = "record.json"
NO_STEP = 3  # the exit code of a process whose program has no step, or never calls it


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A tensor.

    Parameters
    ----------
    name
        In the words of the schema, as in `self` or `tensors[1]`; of a result, as in `output 0`.
    device
        As in `npu:0`.
    file
        Its file in the folder of tensors; empty if it has no elements that can be written.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    device: str
    file: str

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCall:
    """One call of an operator.

    Parameters
    ----------
    operator
        As in `aten.add.Tensor`.
    source
        The line of the program, as in `/a/step.py:7 in step: y = x + 1`; empty if it has none.
    text
        The call in Python, with the inputs as `t[0]`, `t[1]`, ….
    outputs
        Results, and what the call has written into its inputs.
    expected
        What eager mode answers to these inputs, for each output; of compiled modes alone. Empty if
        the operator draws random numbers or leaves memory as it finds it.
    is_random
        Whether it draws random numbers.
    graph
        The method `forward` of the graph that ends with this operator, where the difference shows
        in it and not as long as all results in the graph are kept. The inputs are those of the
        graph then, and `outputs` and `expected` all that it returns.
    """

    operator: str
    source: str
    text: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    expected: tuple[Value, ...] = ()
    is_random: bool = False
    graph: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCall:
    """One call of the step.

    Parameters
    ----------
    arguments
        Tensors that the step is given, before the call.
    results
        Tensors that it returns; then arguments, parameters and buffers as it leaves them.
    """

    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    operators: tuple[OperatorCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error that the step ends with in a mode.

    Parameters
    ----------
    operator, source
        The operator that was called last; empty if none was.
    """

    call: int
    text: str
    operator: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A run.

    Parameters
    ----------
    step
        Where the step is, as in `/a/step.py:7 step`.
    failure
        Why the run ended before its last call.
    """

    step: str
    calls: tuple[StepCall, ...]
    failure: Failure | None = None


def write_record(folder: Path, record: Record) -> None:
    """Write the record of a run."""
    (folder / FILE).write_text(json.dumps(asdict(record)), encoding="utf-8")


def read_record(folder: Path) -> Record | None:
    """Return the record of a run; None if its process has written none."""
    file = folder / FILE
    if not file.is_file():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))
    failure = found["failure"]
    return Record(
        step=found["step"],
        calls=tuple(map(read_call, found["calls"])),
        failure=None if failure is None else Failure(**failure),
    )


def read_call(found: Mapping[str, Any]) -> StepCall:
    """Return a call of the step."""
    return StepCall(
        arguments=read_values(found["arguments"]),
        results=read_values(found["results"]),
        operators=tuple(map(read_operator, found["operators"])),
    )


def read_operator(found: Mapping[str, Any]) -> OperatorCall:
    """Return a call of an operator."""
    tensors = {name: read_values(found[name]) for name in ("inputs", "outputs", "expected")}
    return OperatorCall(**{**found, **tensors})


def read_values(found: list[Mapping[str, Any]]) -> tuple[Value, ...]:
    """Return tensors."""
    return tuple(Value(**{**each, "shape": tuple(each["shape"])}) for each in found)
