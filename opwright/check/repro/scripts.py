"""`--repro DIR`: a script of a few lines for each failure, that shows it alone.

A script loads the operators, makes the arguments of the smallest sample with plain torch, and runs
the lines that the row gives; they end in an assertion that fails as long as the fault is there. For
a failure without such lines the script runs the row itself, on that sample alone.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from opwright.check.known.failures import new_failures
from opwright.check.processes.kinds import VARIABLES
from opwright.check.report.source import escape_controls
from opwright.check.repro.arguments import arguments_lines
from opwright.check.samples.text import describe
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.packaging.writer import write_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.check.finding import Finding
    from opwright.check.known.failures import Failure
    from opwright.check.record import Record
    from opwright.check.request import Request
    from opwright.kit.declare.schema import Schema

__all__ = ["script_of", "scripts_of", "write_scripts"]

Key: TypeAlias = "tuple[str, str, str, str]"
LONGEST = 1000  # characters of what was expected and got


def write_scripts(folder: Path, record: Record, request: Request) -> dict[Key, str]:
    """Write a script for each new failure of a run; return failure -> its path.

    Scripts of an earlier run are removed if what they show does not fail any more.

    Raises
    ------
    EditedFilesError, LeavesFolderError, WriteError
        OPW-B001, OPW-B023, OPW-B002: nothing that somebody else wrote or changed is overwritten.
    """
    scripts = scripts_of(record, request)
    write_tree(folder, dict(scripts.values()))
    return {key: str(folder / name) for key, (name, _) in scripts.items()}


def scripts_of(record: Record, request: Request) -> dict[Key, tuple[str, str]]:
    """Return failure -> the name and the text of its script."""
    schemas = {each.name: each.schema for each in record.operators}
    kinds = {each.name: each.process for each in record.rows}
    scripts: dict[Key, tuple[str, str]] = {}
    for each in new_failures(record):
        operator = each.outcome.operator
        if each.key not in scripts and operator in schemas:
            schema = parse_schema(schemas[operator], where=operator)
            name = name_of(each)
            text = script_of(each, schema, request, name=name)
            if variables := VARIABLES[kinds.get(each.outcome.row, "plain")]:
                start = environment_lines(variables)
                text = re.sub("^import ", f"{start}import ", text, count=1, flags=re.MULTILINE)
            scripts[each.key] = (name, text)
    return scripts


def environment_lines(variables: Mapping[str, str]) -> str:
    """Return what sets variables: the twin and torch_npu read them when torch_npu is loaded."""
    lines = [f'os.environ["{name}"] = "{value}"\n' for name, value in variables.items()]
    return f"import os\n\n{''.join(lines)}\n"


def name_of(failure: Failure) -> str:
    """Return the name of a failure's script, which is that of an equal failure in another run."""
    parts = [each.replace("::", ".") for each in failure.key]
    return "-".join(re.sub(r"[^\w.]+", "_", part, flags=re.ASCII) for part in parts) + ".py"


def script_of(failure: Failure, schema: Schema, request: Request, *, name: str) -> str:
    """Return the script of a failure."""
    finding = failure.finding
    lines = [] if finding is None else list(finding.script)
    parts = [header(failure, name)]
    if finding is None or not lines:
        parts += replay(failure, request, [])
    elif is_asserted(lines) or finding.trace:
        needs_subject = any(re.search(r"\b(subject|reference)\b", line) for line in lines)
        parts += write_loading(failure, request, needs_subject=needs_subject)
        shown = write_assertion(lines) if finding.trace else lines
        parts += [*write_arguments(finding, schema), "\n".join(shown)]
    else:  # lines that call the operator, and the row, which sees what is wrong
        parts += replay(
            failure, request, [*write_arguments(finding, schema), "\n".join(write_assertion(lines))]
        )
    return "\n\n".join(parts) + "\n"


def write_arguments(finding: Finding, schema: Schema) -> list[str]:
    """Return what makes the arguments, if there are some."""
    if finding.sample is None:
        return []
    return ["\n" + "\n".join(arguments_lines(finding.sample, schema)) + "\n"]


def is_asserted(lines: list[str]) -> bool:
    """Return whether lines end in an assertion."""
    try:
        return isinstance(ast.parse("\n".join(lines)).body[-1], ast.Assert)
    except (SyntaxError, IndexError):
        return False


def write_assertion(lines: list[str]) -> list[str]:
    """Return lines that end in an assertion, where an exception is the fault."""
    return [
        "try:",
        *(f"    {line}" for each in lines for line in each.splitlines()),
        "except Exception as error:",
        '    raise AssertionError(f"{type(error).__name__}: {error}") from error',
    ]


def header(failure: Failure, name: str) -> str:
    """Return the docstring of a script: what it shows."""
    operator, row, column, kind = failure.key
    finding = failure.finding
    if finding is None:
        lines = [f"{operator}: {row} [{column}] {failure.outcome.status}"]
    else:
        lines = [
            f"{operator}: {finding.kind.title}",
            "",
            f"row:      {row}/{kind} [{column}]",
            f"expected: {finding.expected[:LONGEST]}",
            f"got:      {finding.got[:LONGEST]}",
            f"at:       {finding.place}",
            f"fix:      {finding.fix}",
        ]
    lines += ["", f"opwright run -- python {name}"]
    text = escape_controls("\n".join(lines)).replace("\\", "\\\\").replace('"""', r"\"\"\"")
    return f'"""{text}\n"""'


def write_loading(failure: Failure, request: Request, *, needs_subject: bool) -> Iterator[str]:
    """Yield the imports, and what loads the operators and names the one."""
    name = failure.outcome.operator
    namespace, _, rest = name.partition("::")
    packet, _, variant = rest.partition(".")
    overload = f"operator = torch.ops.{namespace}.{packet}.{variant or 'default'}"
    is_library = request.load and all(each.endswith(".so") for each in request.load)
    if is_library and not needs_subject:
        yield "import torch\nimport torch_npu"
        loads = [f"torch.ops.load_library({absolute(each)!r})" for each in request.load]
        yield "\n".join([*loads, overload])
        return
    yield f"{TORCH}\n{TARGET}"
    lines = [*target_lines(request), overload]
    if needs_subject:
        lines += [subject_line(name), "reference = subject.reference"]
    yield "\n".join(lines)


# Kernels of the twin that a declaration has are declared before torch_npu is loaded, or after this.
TORCH = """\
import opwright.twin  # before torch, which loads torch_npu

import torch
import torch_npu
"""
TARGET = """\
from opwright.check.request import Request
from opwright.check.target import read_target"""


def target_lines(request: Request) -> list[str]:
    """Return what loads the target; the operators are there as long as `target` is."""
    values = {
        "target": absolute(request.target),
        "load": tuple(map(absolute, request.load)),
        "declaration": None if request.declaration is None else absolute(request.declaration),
    }
    given = ", ".join(f"{name}={value!r}" for name, value in values.items() if value)
    return [f"target = read_target(Request({given}))"]


def subject_line(name: str) -> str:
    """Return what names the operator and its declaration."""
    return f"subject = {{each.name: each for each in target.subjects}}[{name!r}]"


def absolute(name: str) -> str:
    """Return the absolute path of a file or folder; a module's name as it is."""
    path = Path(name)
    return str(path.absolute()) if path.exists() else name


def replay(failure: Failure, request: Request, lines: list[str]) -> Iterator[str]:
    """Yield what runs the row on the sample that fails; lines that show the call come before."""
    operator, row, column, _ = failure.key
    sample = None if failure.finding is None else failure.finding.sample
    imports = [TORCH]
    loads = [*target_lines(request), subject_line(operator)]
    if lines:
        loads.append("operator = subject.overload")
    more = f", seed={request.seed}" if request.seed else ""
    if sample is not None:
        text = describe(sample)
        if re.search(r"\b(inf|nan)\b", text):
            imports.insert(0, "from math import inf, nan\n")
        imports.append("from opwright import sample, tensor")
        more = f", sample={text}{more}"
    imports.append("from opwright.check.repro.replay import replayed")
    yield "\n".join([*imports, TARGET])
    yield "\n".join(loads)
    yield from lines
    yield f"fault = replayed(subject, {row!r}, {column!r}{more})\nassert not fault, fault"
