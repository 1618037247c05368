"""Each mistake that one line shows is raised at that line, with the text that expected.txt has."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.kit.declare.errors import DeclarationError
from tests.kit.declare.texts import expected_texts

HEAD = """\
import opwright.kit.declare as ow
ops = ow.OperatorSet("my_ops")
"""
F = 'ops.declare("f(Tensor x, Tensor y, int n=1) -> Tensor", {})\n'
REFERENCE = "@ops.operator({})\ndef f({}):\n    return x\n"

# The lines after HEAD in my_ops.py.
CASES = {
    # schema
    "OPW-D001 no schema": 'ops.declare("f(Tensor x)")',
    "OPW-D001 namespace": 'ops.declare("my_ops::f(Tensor x) -> Tensor")',
    "OPW-D001 type": 'ops.declare("f(Tensr x) -> Tensor")',
    "OPW-D001 type of a result": 'ops.declare("f(Tensor x) -> Tesor")',
    "OPW-D001 no name": 'ops.declare("f(Tensor x, int) -> Tensor")',
    "OPW-D001 two stars": 'ops.declare("f(Tensor x, *, int n, *, int m) -> Tensor")',
    "OPW-D001 write without a set": 'ops.declare("f(Tensor! x) -> Tensor")',
    "OPW-D001 alias of nothing": 'ops.declare("f(Tensor x) -> Tensor(a!)")',
    "OPW-D001 one alias set twice": 'ops.declare("f(Tensor(a!) x, Tensor(a!) y) -> ()")',
    "OPW-D001 wildcard": 'ops.declare("f(Tensor(a -> *) x) -> ()")',
    "OPW-D001 two arguments of one name": 'ops.declare("f(Tensor x, int x) -> Tensor")',
    "OPW-D001 two results of one name": 'ops.declare("f(Tensor x) -> (Tensor y, Tensor y)")',
    # function
    "OPW-D002 no annotation": REFERENCE.format("", "x"),
    "OPW-D002 no annotation of the result": REFERENCE.format("", "x: int"),
    "OPW-D002 unknown annotation": REFERENCE.format("", "x: set"),
    "OPW-D002 several values": REFERENCE.format("", "*x: int"),
    "OPW-D002 mutates": REFERENCE.format('mutates=["y"]', "x: int"),
    "OPW-D002 default": REFERENCE.format("", "x: int, y: int = {1}"),
    # rules
    "OPW-D003 input of a formula": F.format('backward={"z": "grad"}'),
    "OPW-D005 unknown dtype": F.format('dtypes="float15"'),
    "OPW-D005 empty set": F.format("dtypes=()"),
    "OPW-D005 dtype twice": F.format('dtypes="int8 int8"'),
    "OPW-D006 not a call": F.format('aclnn="1abs"'),
    "OPW-D006 C type": F.format('aclnn="aclnnF(x, flot n, out)"'),
    "OPW-D006 parameter": F.format('aclnn="aclnnF(x + y, out)"'),
    "OPW-D006 list": F.format('aclnn="aclnnF([1], out)"'),
    # names and fields
    "OPW-D007 operator": F.format("") + F.format(""),
    "OPW-D008 word of Python": 'ops.declare("lambda(Tensor x) -> Tensor")',
    "OPW-D008 word of C++": 'ops.declare("f(Tensor x, int register) -> Tensor")',
    "OPW-D008 attribute of torch.ops": 'ops.declare("load_library(Tensor x) -> Tensor")',
    "OPW-D008 two underscores": 'ops.declare("__f(Tensor x) -> Tensor")',
    "OPW-D008 namespace": 'ow.OperatorSet("aten")',
    "OPW-D008 namespace that is no word": 'ow.OperatorSet("my-ops")',
    "OPW-D009 unknown field": F.format("shape={}"),
    "OPW-D009 name without a function": 'ops.declare("f")',
    "OPW-D009 mutates beside a schema": F.format('mutates=["x"]'),
    "OPW-D009 sizes in a list": F.format('shapes={"out": [1, 2]}'),
    "OPW-D009 a rule for no output": F.format('shapes=ow.like("x")'),
    "OPW-D009 tolerances of no dtype": F.format("tolerances=(1e-3, 1e-3)"),
    "OPW-D009 layout": F.format('layouts={"x": "dense"}'),
    "OPW-D009 relation in other words": F.format('relations="x is linear"'),
    "OPW-D009 layout of a sample": 'ow.tensor(2, 3, layout="dense")',
    "OPW-D009 number of a sample's values": "ow.tensor(2, 3, values=[1, 2])",
    "OPW-D009 lists of a sample's values": "ow.tensor(values=[[1, 2], [3]])",
    "OPW-D009 values of a sample that are no numbers": 'ow.tensor(values="12")',
    "OPW-D009 values of a sample with bounds": "ow.tensor(values=[1, 2], low=0)",
    "OPW-D009 file of the prototype": "from pathlib import Path\n"
    + F.format('prototype=Path("add.h")'),
    "OPW-D009 two prototypes": F.format(
        'prototype="REG_OP(A).INPUT(x, TensorType::ALL()).OP_END_FACTORY_REG(A) '
        'REG_OP(B).INPUT(x, TensorType::ALL()).OP_END_FACTORY_REG(B)"'
    ),
    "OPW-D009 second backward": REFERENCE.format(
        '"f(Tensor x) -> Tensor", backward="reference"', "x"
    )
    + "f.backward()(print)",
    "OPW-D009 control character in a docstring": (
        "def f(x): return x\nf.__doc__ = 'a\\x00b'\nops.operator('f(Tensor x) -> Tensor')(f)"
    ),
    "OPW-D009 half a character in a condition": F.format("requires='n in (\\ud800)'"),
    "OPW-D009 NUL in a constant": F.format("aclnn=r\"aclnnF(x, '\\x00', out)\""),
    "OPW-D009 dtypes of no tensor": 'ops.declare("f(int n) -> Tensor", dtypes="int8")',
}


def raised_by(name: str) -> DeclarationError:
    code = compile(HEAD + CASES[name], "my_ops.py", "exec", dont_inherit=True)
    with pytest.raises(DeclarationError) as raised:
        exec(code, {})  # noqa: S102 - so that the place is a line of my_ops.py
    return raised.value


EXPECTED = expected_texts(
    Path(__file__).parent / "expected.txt", CASES, lambda name: str(raised_by(name))
)


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    error = raised_by(name)
    assert str(error) == EXPECTED[name]
    assert error.id == name.partition(" ")[0]


def test_expected_has_every_case_and_no_other() -> None:
    assert list(EXPECTED) == list(CASES)


def test_every_id_has_a_case() -> None:
    ids = {name.partition(" ")[0] for name in CASES}
    # Shapes are resolved by validation: tests/kit/validate has OPW-D004.
    assert {f"OPW-D{number:03}" for number in range(1, 10)} - ids == {"OPW-D004"}
