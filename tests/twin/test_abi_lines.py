"""Every line of the aclnn tables has the C signature that its callers use.

A caller looks an aclnn function up by name and calls it with the types of its own arguments:
nothing at run time notices a parameter that is missing, misplaced or of another width.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
TABLES = sorted(
    path
    for path in (NATIVE / "opapi" / "ops").rglob("*.cpp")
    if re.search(r"\b(ACLNN|OPWRIGHT_FUNCTION)\s*\(", path.read_text(encoding="utf-8"))
)
PROTOTYPES = Path(__file__).parents[2] / "opwright" / "aclnn" / "prototypes.tsv"

# The C type that each kind of parameter (native/opapi/kinds.h, and headers of families beside the
# tables) has in the exported signature.
C_TYPES = {
    "tensor": "In Index OptIn OptIndex Out OutIndex Ref OptOut DynamicOut "
    "CodedIn CodedOut OptCodedOut RetiledWeight RetiledFilter",
    "tensors": "TensorList OptTensorList IndexList OutList RefList OptRefList OptOutList",
    "scalar": "Scalar OptScalar Operand",
    "scalars": "ScalarList",
    "ints": "Ints OptInts",
    "bools": "Bools BoolsOrNone",
    "floats": "Floats",
    "int64": "Int DtypeInt DtypeCode",
    "int32": "Int32",
    "int8": "Int8 MathType",
    "uint64": "UInt64",
    "uint32": "UInt32",
    "bool": "Bool",
    "double": "Double",
    "float": "Float",
    "text": "Text Group",
    "dtype": "Dtype",
}
C_TYPE_OF = {kind: c_type for c_type, kinds in C_TYPES.items() for kind in kinds.split()}

PARAMETER = re.compile(r"\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*")
LINE = re.compile(rf"\b(ACLNN|OPWRIGHT_FUNCTION)\s*\(\s*(\w+)\s*,\s*((?:{PARAMETER.pattern})+),")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    function: str
    parameters: tuple[tuple[str, str], ...]  # (kind, name)


def prototypes() -> dict[str, list[str]]:
    rows = [row.split("\t") for row in PROTOTYPES.read_text(encoding="utf-8").splitlines()[1:]]
    return {function: parameters.split(", ") for function, parameters, _source in rows}


def lines(source: str) -> list[Line]:
    """Read the lines of one table; its own macros are expanded, ACLNN itself is not."""
    source = re.sub(r"^\s*#\s*include.*$", "", source, flags=re.MULTILINE)
    expanded = subprocess.run(
        ["g++", "-E", "-P", "-x", "c++", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [
        Line(
            function=("aclnn" if macro == "ACLNN" else "") + name,
            parameters=tuple(PARAMETER.findall(parameters)),
        )
        for macro, name, parameters, *_ in LINE.findall(expanded)
    ]


def faults(line: Line, expected: list[str] | None) -> list[str]:
    if expected is None:
        return [f"{line.function}: prototypes.tsv has no function of this name"]
    if len(line.parameters) != len(expected):
        return [f"{line.function}: {len(line.parameters)} parameters instead of {len(expected)}"]
    return [
        f"{line.function}: parameter {i} is ({kind}, {name}), the caller passes '{wanted}'"
        for i, ((kind, name), wanted) in enumerate(zip(line.parameters, expected, strict=True))
        if C_TYPE_OF.get(kind) != wanted.split(" ")[0]
    ]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_table_has_the_callers_signatures(table: Path) -> None:
    known = prototypes()
    found = lines(table.read_text(encoding="utf-8"))
    assert found
    assert [fault for line in found for fault in faults(line, known.get(line.function))] == []


def test_no_function_is_declared_twice() -> None:
    found = [line.function for table in TABLES for line in lines(table.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(set(found))


def test_macros_of_a_table_are_expanded() -> None:
    source = """
    #include "opapi/opapi.h"
    #define UNARY(NAME, FUNCTION) ACLNN(NAME, (In, self)(Out, out), at::FUNCTION##_out(out, self))
    UNARY(Abs, abs)
    OPWRIGHT_FUNCTION(aclRfft1D, (In, self)(Int, n), f(self, n))
    """
    assert [line.function for line in lines(source)] == ["aclnnAbs", "aclRfft1D"]


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ("(In, self)(In, other)(Out, out)", "3 parameters instead of 4"),
        ("(In, self)(In, other)(Double, alpha)(Out, out)", "parameter 2 is (Double, alpha)"),
        ("(In, self)(In, other)(Unknown, alpha)(Out, out)", "parameter 2 is (Unknown, alpha)"),
    ],
)
def test_a_wrong_line_is_found(parameters: str, fault: str) -> None:
    (line,) = lines(f"ACLNN(Add, {parameters}, f())")
    assert fault in "\n".join(faults(line, prototypes()["aclnnAdd"]))


def test_an_unknown_name_is_found() -> None:
    (line,) = lines("ACLNN(Adddd, (In, self)(Out, out), f())")
    assert "no function of this name" in faults(line, prototypes().get(line.function))[0]
