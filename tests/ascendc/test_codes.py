"""The codes of dtypes and formats: one table, which all other forms of them agree with."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from opwright.aclnn.dtypes import DTYPE_NUMBERS

NATIVE = Path(__file__).resolve().parents[2] / "native"
CODES = NATIVE / "abi" / "ge" / "codes.h"
MACRO = re.compile(r"^#define (?:C_)?(DT|FORMAT)_(\w+) (\d+)$", re.MULTILINE)


def table() -> dict[tuple[str, str], int]:
    """Return kind (DT or FORMAT) and name -> code."""
    dtypes, _, formats = CODES.read_text(encoding="utf-8").partition("OPWRIGHT_GE_FORMATS(X)")
    return {
        (kind, name): int(code)
        for kind, text in (("DT", dtypes), ("FORMAT", formats))
        for name, code in re.findall(r"X\((\w+), (\d+)\)", text)
    }


@pytest.mark.parametrize("file", ["shared/template_values.h", "kernel/project/numbers.h"])
def test_macros_have_the_codes_of_the_table(file: str) -> None:
    macros = {
        (kind, name): int(code)
        for kind, name, code in MACRO.findall((NATIVE / "ascendc" / file).read_text("utf-8"))
    }
    macros.pop(("FORMAT", "NZ"), None)  # another name of FRACTAL_NZ
    assert len(macros) > 50
    assert {key: table()[key] for key in macros} == macros


def test_dtypes_of_python_have_the_codes_of_the_table() -> None:
    codes = {name: code for (kind, name), code in table().items() if kind == "DT"}
    numbers = {name: number for name, number in DTYPE_NUMBERS.items() if name}  # 5 is reserved
    assert {name: codes[name] for name in numbers} == numbers


def test_codes_are_those_of_the_wheel() -> None:
    spec = importlib.util.find_spec("torch_npu")
    assert spec is not None, "torch_npu is not installed"
    assert spec.origin is not None, "torch_npu has no files"
    vendor = Path(spec.origin).parent / "include/third_party/acl/inc/graph/c_types.h"
    known = {
        (kind, name)
        for kind, name in re.findall(r"\bC_(DT|FORMAT)_(\w+)", vendor.read_text(encoding="utf-8"))
        if name not in {"MAX", "END"}
    }
    assert len(known) > 90
    assert known <= table().keys()
    program = f'#include "{vendor}"\n#include "ge/codes.h"\n' + "".join(
        f"static_assert(int(C_{kind}_{name}) == int(ge::{kind}_{name}));\n"
        for kind, name in sorted(known)
    )
    done = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", f"-I{NATIVE / 'abi'}", "-x", "c++", "-"],
        input=program,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
