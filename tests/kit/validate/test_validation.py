"""The results of `validate` and `check` for the findings of rules."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from opwright.errors import DiagnosticsError, OpwrightError
from opwright.kit.declare import OperatorSet, error, like, promote, reduced, sample, tensor
from opwright.kit.declare.place import Place
from opwright.kit.validate import InvalidDeclarationError, check, validate


def good_set() -> OperatorSet:
    """Declare operators of many kinds without a mistake."""
    ops = OperatorSet("my_ops", version="1.2.0", torch=">=2.13,<2.14")

    @ops.operator(
        "rescale(Tensor x, *, float factor=1.0) -> Tensor",
        aclnn="aclnnRescale(x, float factor, out)",
        shapes={"x": "*batch, N", "out": like("x")},
        dtypes="float16 float32",
        backward={"x": "grad * factor"},
        samples=[sample(x=tensor(2, 3), factor=0.5)],
        errors=[error("axes", x=tensor())],
        tolerances={"float16": (1e-3, 1e-3)},
        tags=["pointwise"],
    )
    def rescale(x: float, *, factor: float = 1.0) -> float:
        return x * factor

    ops.declare(
        "rescale_(Tensor(a!) x, *, float factor=1.0) -> Tensor(a!)",
        aclnn="aclnnInplaceRescale",
        functional="rescale_new",
    )
    ops.declare(
        "rescale.out(Tensor x, *, float factor=1.0, Tensor(a!) out) -> Tensor(a!)",
        aclnn="aclnnRescale(x, float factor, out)",
    )
    ops.declare(
        "moments(Tensor x, int[]? dim=None, bool keepdim=False) -> (Tensor mean, Tensor variance)",
        aclnn="aclnnMoments(x, dim, keepdim, mean, variance)",
        shapes={
            "mean": reduced("x", dim="dim", keepdim="keepdim"),
            "variance": reduced("x", dim="dim", keepdim="keepdim"),
        },
    )
    ops.declare(
        "join(Tensor[] x, Tensor? bias, ScalarType? dtype=None, Device? device=None) -> Tensor",
        aclnn="aclnnJoin(x, bias, out, out.dtype)",
        shapes={"out": "len(x)"},
        dtypes={"out": "dtype or float32"},
    )
    ops.declare(
        "mix(Tensor x, Tensor y, Scalar alpha=1) -> Tensor",
        aclnn="aclnnAdd",
        dtypes={"out": promote("x", "y")},
        backward="mix_backward(grad, alpha)",
    )
    ops.declare(
        "mix_backward(Tensor? grad, Scalar alpha) -> (Tensor, Tensor)",
        aclnn="aclnnMixBackward",
        shapes={"out0": "1", "out1": "1"},
        dtypes={"out0": "float32", "out1": "float32"},
    )
    return ops


def test_nothing_is_found_in_a_good_set() -> None:
    assert [str(each) for each in validate(good_set().freeze())] == []
    assert check(good_set().freeze()) == ()


def test_diagnostics_are_in_the_order_of_the_file() -> None:
    ops = OperatorSet("my_ops", version="one")
    ops.declare("b_(Tensor x) -> Tensor")
    ops.declare("a_(Tensor x) -> Tensor", tags=["none"])
    declaration = ops.freeze()
    lines = (20, 10)
    operators = tuple(
        dataclasses.replace(operator, place=Place("my_ops.py", line))
        for operator, line in zip(declaration.operators, lines, strict=True)
    )
    found = validate(
        dataclasses.replace(declaration, place=Place("my_ops.py", 1), operators=operators)
    )
    assert [(each.place.line, each.id) for each in found] == [
        (1, "OPW-D053"),
        (10, "OPW-D044"),
        (10, "OPW-D054"),
        (20, "OPW-D044"),
    ]


def unused_and_wrong(*, wrong: bool) -> OperatorSet:
    ops = OperatorSet("my_ops")
    version = "soon" if wrong else "1.0"
    ops.declare("f(Tensor x, int n) -> Tensor", aclnn="aclnnF(x, out)", deprecated=version)
    return ops


def test_check_raises_one_group_with_warnings() -> None:
    declaration = unused_and_wrong(wrong=True).freeze()
    declaration = dataclasses.replace(
        declaration,
        place=Place("my_ops.py", 1),
        operators=(dataclasses.replace(declaration.operators[0], place=Place("my_ops.py", 2)),),
    )
    with pytest.raises(InvalidDeclarationError) as raised:
        check(declaration)
    assert str(raised.value) == (
        "OPW-D010 the declaration has errors\n"
        "  where:   my_ops.py:1, operator set my_ops\n"
        "  got:     1 error and 1 warning\n"
        "  fix:     mend each of them\n"
        "\n"
        "OPW-D053 not a version\n"
        "  where:   my_ops.py:2, operator my_ops::f, deprecated\n"
        "  got:     'soon'\n"
        '  fix:     write a version such as "1.0.2"\n'
        "\n"
        "warning OPW-D024 an argument is not used\n"
        "  where:   my_ops.py:2, operator my_ops::f, argument 'n'\n"
        "  got:     aclnnF(x, out)\n"
        "  fix:     pass it to the aclnn function, or remove it from the schema"
    )
    assert isinstance(raised.value, OpwrightError)
    assert isinstance(raised.value, DiagnosticsError)
    assert [each.id for each in raised.value.errors] == ["OPW-D053"]


def test_warnings_alone_are_returned() -> None:
    assert [each.id for each in check(unused_and_wrong(wrong=False).freeze())] == ["OPW-D024"]


def test_a_warning_can_be_an_error() -> None:
    with pytest.raises(InvalidDeclarationError):
        check(unused_and_wrong(wrong=False).freeze(), as_errors={"OPW-D024"})


def test_two_operators_of_one_name_in_a_declaration_that_no_set_made() -> None:
    declaration = good_set().freeze()
    copy = dataclasses.replace(declaration.operators[0])
    twice = dataclasses.replace(declaration, operators=(declaration.operators[0], copy))
    assert [each.id for each in validate(twice)] == ["OPW-D007"]


def test_a_reserved_namespace_in_a_declaration_that_no_set_made() -> None:
    declaration = dataclasses.replace(good_set().freeze(), namespace="aten")
    assert [each.id for each in validate(declaration)] == ["OPW-D008"]


def test_nothing_imports_torch() -> None:
    # Text: a module of tests imports more.
    program = (
        "import sys\n"
        "import opwright.kit.validate\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'torch', 'torch_npu'}))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    assert run.stdout == "[]\n"
