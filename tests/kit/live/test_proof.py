"""The reference is run on samples: what it aliases and writes is what the schema says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch

from opwright.kit.declare import OperatorSet, sample, tensor
from opwright.kit.declare.place import Place
from opwright.kit.live.proof import prove_aliasing, prove_declaration
from opwright.kit.live.samples import sample_arguments
from opwright.kit.validate import InvalidDeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.errors import OpwrightError
    from opwright.kit.declare.fields import OperatorFields
    from opwright.kit.declare.operator import Operator

pytestmark = pytest.mark.twin

ONE = [sample(x=tensor(2, 3))]


def declared(
    schema: str, reference: Callable[..., object], fields: OperatorFields | None = None
) -> Operator:
    ops = OperatorSet("my_ops")
    given: OperatorFields = {"samples": ONE}
    given.update(fields or {})
    ops.operator(schema, **given)(reference)
    return dataclasses.replace(ops.freeze().operators[0], place=Place("my_ops.py", 7))


def add_in_place(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1)


def silent_add(x: torch.Tensor) -> None:
    x.add_(1)


def add(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def same(x: torch.Tensor) -> torch.Tensor:
    return x


def first_row(x: torch.Tensor) -> torch.Tensor:
    return x[0]


def twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x + 1
    return y, y.T


def write_through_data(x: torch.Tensor) -> torch.Tensor:
    x.data.fill_(2)
    return x + 1


def copy_of_written(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.clone()


def add_zero(x: torch.Tensor) -> None:
    x.add_(0)


def nothing(x: torch.Tensor) -> None:
    del x


def three(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x + 1, x + 2, x + 3


@pytest.mark.parametrize(
    ("schema", "reference"),
    [
        ("f(Tensor x) -> Tensor", add),
        ("f_(Tensor(a!) x) -> Tensor(a!)", add_in_place),
        ("f_(Tensor(a!) x) -> Tensor(a!)", silent_add),  # what is written need not be returned
        ("f_(Tensor(a!) x) -> ()", silent_add),
        ("f_(Tensor(a!) x) -> ()", add_zero),  # written with the same values
    ],
)
def test_what_agrees_passes(schema: str, reference: Callable[..., object]) -> None:
    operator = declared(schema, reference)
    before = dict(operator.samples[0].values)
    prove_aliasing(operator)
    assert dict(operator.samples[0].values) == before


@pytest.mark.parametrize(
    ("schema", "reference", "text"),
    [
        (
            "f(Tensor x) -> Tensor",
            same,
            (
                "OPW-D057 a new result shares memory\n"
                "  where:   my_ops.py:7, operator my_ops::f, samples[0], result 0\n"
                "  got:     the memory of argument 'x'\n"
                "  fix:     return a copy, for example x.clone(), or annotate the alias in the "
                "schema"
            ),
        ),
        (
            "f(Tensor x) -> Tensor y",
            first_row,
            (
                "OPW-D057 a new result shares memory\n"
                "  where:   my_ops.py:7, operator my_ops::f, samples[0], result y\n"
                "  got:     the memory of argument 'x'\n"
                "  fix:     return a copy, for example x.clone(), or annotate the alias in the "
                "schema"
            ),
        ),
        (
            "f(Tensor x) -> (Tensor y, Tensor z)",
            twice,
            (
                "OPW-D057 a new result shares memory\n"
                "  where:   my_ops.py:7, operator my_ops::f, samples[0], result z\n"
                "  got:     the memory of result y\n"
                "  fix:     return a copy, for example x.clone(), or annotate the alias in the "
                "schema"
            ),
        ),
        (
            "f(Tensor x) -> Tensor",
            write_through_data,
            (
                "OPW-D058 the reference writes an argument that is not annotated\n"
                "  where:   my_ops.py:7, operator my_ops::f, samples[0]\n"
                "  got:     Tensor x, which it writes\n"
                "  fix:     work on a copy, or annotate the argument: Tensor(a!)"
            ),
        ),
        (
            "f_(Tensor(a!) x) -> ()",
            nothing,
            (
                "OPW-D059 the reference does not write an annotated argument\n"
                "  where:   my_ops.py:7, operator my_ops::f_, samples\n"
                "  got:     Tensor(a!) x, which no sample changes\n"
                "  fix:     write it in place, for example x.copy_(...), or remove the annotation"
            ),
        ),
        (
            "f_(Tensor(a!) x) -> Tensor(a!)",
            copy_of_written,
            (
                "OPW-D060 a result is not the argument that it is annotated as\n"
                "  where:   my_ops.py:7, operator my_ops::f_, samples[0], result 0\n"
                "  got:     another tensor\n"
                "  allowed: x\n"
                "  fix:     return the argument itself, or nothing: what is written need not be "
                "returned"
            ),
        ),
        (
            "f(Tensor x) -> (Tensor, Tensor)",
            three,
            (
                "OPW-L010 the reference function does not return the schema's results\n"
                "  where:   my_ops.py:7, operator my_ops::f, samples[0]\n"
                "  got:     3 values\n"
                "  allowed: 2\n"
                "  fix:     return one tensor for each result; what is written need not be returned"
            ),
        ),
    ],
)
def test_what_contradicts_is_reported(
    schema: str, reference: Callable[..., object], text: str
) -> None:
    with pytest.raises(Exception, match="OPW-") as raised:
        prove_aliasing(declared(schema, reference), namespace="my_ops")
    error: OpwrightError = raised.value  # type: ignore[assignment]  # matched by its identifier
    assert str(error) == text


def test_all_operators_of_a_set_are_reported_at_once() -> None:
    ops = OperatorSet("my_ops")
    ops.operator("f(Tensor x) -> Tensor", samples=ONE)(same)
    ops.operator("g(Tensor x) -> Tensor", samples=ONE)(add)
    ops.operator("h_(Tensor(a!) x) -> ()", samples=ONE)(nothing)
    with pytest.raises(InvalidDeclarationError) as raised:
        prove_declaration(ops.freeze())
    assert [each.id for each in raised.value.errors] == ["OPW-D057", "OPW-D059"]


def test_nothing_to_prove_without_samples() -> None:
    calls: list[torch.Tensor] = []
    operator = declared("f(Tensor x) -> Tensor", calls.append, {"samples": ()})
    prove_aliasing(operator)
    prove_aliasing(dataclasses.replace(operator, samples=tuple(ONE)), samples=())
    assert calls == []


def test_an_exception_of_the_reference_says_which_sample() -> None:
    operator = declared(
        "f(Tensor x, int n) -> Tensor", add, {"samples": [sample(x=tensor(2), n=1)]}
    )
    with pytest.raises(TypeError) as raised:
        prove_aliasing(operator, namespace="my_ops")
    assert vars(raised.value)["__notes__"] == [
        "raised by the reference: my_ops.py:7, operator my_ops::f, samples[0]"
    ]


def test_arguments_of_a_sample() -> None:
    operator = declared(
        "f(Tensor x, Tensor y, Tensor[] zs, Tensor? m=None, *, int[2] pad=0, ScalarType t=half, "
        "Device d='cpu') -> Tensor",
        add,
        {
            "dtypes": {"x": "float16 float32", "y": "x", "zs": "int64"},
            "samples": [
                sample(
                    x=tensor(2, 3, dtype="float32", low=3, high=4),
                    y=tensor(3),
                    zs=[tensor(4, low=5, high=6), tensor()],
                )
            ],
        },
    )
    values = sample_arguments(operator, operator.samples[0])
    x, y, zs = values["x"], values["y"], values["zs"]
    assert isinstance(x, torch.Tensor)
    assert isinstance(y, torch.Tensor)
    assert isinstance(zs, list)
    assert (x.shape, x.dtype) == ((2, 3), torch.float32)
    assert bool(((x >= 3) & (x <= 4)).all())
    assert (y.shape, y.dtype) == ((3,), torch.float32)
    assert [(z.shape, z.dtype) for z in zs] == [((4,), torch.int64), ((), torch.int64)]
    assert set(zs[0].tolist()) <= {5, 6}
    assert [values[name] for name in ("m", "pad", "t", "d")] == [
        None,
        [0, 0],
        torch.half,
        torch.device("cpu"),
    ]
    again = sample_arguments(operator, operator.samples[0])
    assert torch.equal(x, again["x"]) if isinstance(again["x"], torch.Tensor) else False
