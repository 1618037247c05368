"""A task as the chip would have run it: its unit, its name, its operands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from opwright.twin.msprof.recording import Task

__all__ = ["Operand", "Unit", "is_communication", "is_kernel", "name_of", "operands", "unit_of"]

Unit = Literal[
    "AI_CORE",
    "AI_VECTOR_CORE",
    "AI_CPU",
    "MEMCPY_ASYNC",
    "EVENT_RECORD",
    "EVENT_WAIT",
    "COMMUNICATION",
    "MODEL_EXECUTE",
    "OTHER",
]

# Operators whose work the matrix unit does; all others belong to the vector unit.
MATRIX = re.compile(r"Mat[mM]ul|Mm|[db]mm|Gemm|Conv|Attention|FFN|Mv$|Addmv|Dot$")
COPIES = ("aclrtMemcpy", "aclrtMemset")
TENSOR = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<shape>[\d, ]*)\]")
# The names of dtypes in CANN's tables, where they are not the capitals of ours.
DTYPES = {"bfloat16": "DT_BF16", "float32": "FLOAT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A tensor of a task, as CANN's tables show it."""

    shape: str
    dtype: str
    written: bool


def is_kernel(task: Task) -> bool:
    """Whether the task is an operator, not a copy or bookkeeping."""
    return unit_of(task) in ("AI_CORE", "AI_VECTOR_CORE", "AI_CPU")


def is_communication(task: Task) -> bool:
    """Whether the task is a collective."""
    return task.name.startswith("Hccl")


def unit_of(task: Task) -> Unit:
    """Return the kind of task that the chip's scheduler would name."""
    if is_communication(task):
        return "COMMUNICATION"
    if task.name.startswith(COPIES):
        return "MEMCPY_ASYNC"
    if task.name == "aclmdlRIExecuteAsync":
        return "MODEL_EXECUTE"
    if task.bookkeeping:
        if "Wait" in task.name:
            return "EVENT_WAIT"
        return "EVENT_RECORD" if "Event" in task.name else "OTHER"
    return "AI_CORE" if MATRIX.search(task.name) else "AI_VECTOR_CORE"


def name_of(task: Task) -> tuple[str, str]:
    """Return an operator's name and type: CANN joins the function and the operators inside."""
    kind = task.name.removeprefix("aclnn")
    return (f"{task.name}_{kind}_{kind}" if kind != task.name else task.name), kind


def operands(task: Task) -> list[Operand]:
    """Return the tensors of a task, also those in lists, in the order of the parameters."""
    return [
        Operand(
            shape=found["shape"].replace(" ", ""),
            dtype=DTYPES.get(found["dtype"], found["dtype"].upper()),
            written=name in task.written,
        )
        for name, value in task.arguments.items()
        for found in TENSOR.finditer(str(value))
    ]
