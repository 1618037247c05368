"""Graph-building functions: their text, their signatures and the nodes that they make.

OPWRIGHT_ACCEPT=1 writes the golden file anew; the difference is what a reviewer reads.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import keyword
import os
import re
import subprocess
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.aclnn.prototype import (
    ATTRIBUTE_KINDS,
    ATTRIBUTE_TYPES,
    Attribute,
    Graph,
    Port,
    Prototype,
)
from opwright.aclnn.reg_op import write_reg_op
from opwright.graph_engine.prototypes.cann import GENERATED, of_torchair
from opwright.kit.emit.header import is_edited
from opwright.kit.emit.python.raw_ops import emit_raw_ops, explain_skip
from opwright.kit.formats.headers import declarations
from tests.aclnn.test_reg_op import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.aclnn.prototype import Presence

GOLDEN = Path(__file__).parent / "golden" / "raw_ops" / "generated.py.txt"
HEADER = r"""#ifndef OP_PROTO_H_
#define OP_PROTO_H_

#include "graph/operator_reg.h"

#define FLOATS DT_FLOAT, DT_FLOAT16, \
    DT_BF16

namespace ge {

REG_OP(AddCustom)
    .INPUT(x, ge::TensorType::ALL())
    .INPUT(y, ge::TensorType::ALL())
    .OUTPUT(z, ge::TensorType::ALL())
    .OP_END_FACTORY_REG(AddCustom);

/* Inputs, outputs and attributes of every kind, out of order: .INPUT(no, TensorType::ALL()) */
REG_OP(EveryKind)
    .ATTR(epsilon, Float, 1e-12f)
    .INPUT(x, TensorType({FLOATS}))
    .OPTIONAL_INPUT(indices, TensorType({ge::DT_INT64, ge::DT_INT32}))
    .DYNAMIC_INPUT(lambda, "T")  // a keyword of Python
    .OUTPUT(out, TensorType({FLOATS}))
    .DYNAMIC_OUTPUT(parts, "T")
    .DATATYPE(T, TensorType::NumberType())
    .REQUIRED_ATTR(required, Int)
    .ATTR(number, Int, INT64_MAX)
    .ATTR(is_on, Bool, true)
    .ATTR(text, String, "say \"hi\", \\ and "
                        "\"\"\"")
    .ATTR(axes, ListInt, ge::UNKNOWN_SHAPE)
    .ATTR(weights, ListFloat, {1.0f / 4, 2})
    .ATTR(flags, ListBool, {true, false})
    .ATTR(dtype, Type, DT_BF16)
    .ATTR(dtypes, ListType, {DT_FLOAT, DT_FLOAT8_E5M2})
    .ATTR(names, ListString, {"a", "b, c"})
    .ATTR(rows, ListListInt, {{1, 2}, {}})
    .ATTR(x, AscendString, "s")
    .ATTR(table, Tensor, Tensor())
    .REQUIRED_ATTR(attr, ListInt)
    .OP_END_FACTORY_REG(EveryKind)

REG_OP(Nothing).OP_END_FACTORY_REG(Nothing)

REG_OP(If2)
    .INPUT(cond, TensorType::ALL())
    .GRAPH(then_branch)
    .OP_END_FACTORY_REG(If2)

REG_OP(Table)
    .OUTPUT(y, TensorType::ALL())
    .REQUIRED_ATTR(value, Tensor)
    .OP_END_FACTORY_REG(Table)

}  // namespace ge

#endif
"""


def prototypes_of(text: str) -> tuple[Prototype, ...]:
    """Return the prototypes of a header."""
    return tuple(each.prototype for each in declarations(text, where="op_proto.h"))


def test_the_text_is_as_accepted() -> None:
    text = emit_raw_ops(prototypes_of(HEADER), source="op_proto.h")
    if os.environ.get("OPWRIGHT_ACCEPT"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
    assert not is_edited(text)


def test_the_text_is_as_the_formatter_leaves_it() -> None:
    command = (sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=100", "-")
    given_text = GOLDEN.read_text(encoding="utf-8")
    done = subprocess.run(command, input=given_text, capture_output=True, text=True, check=True)
    assert done.stdout == given_text


@dataclass(frozen=True)
class Value:
    """An object as a class of torchair.ge.attr makes it."""

    kind: str
    value: object


class IrDef:
    """Records the calls of torchair's class."""

    def __init__(self, op_type: str) -> None:
        self.calls: list[tuple[object, ...]] = [("type", op_type)]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as torchair's
        def note(*arguments: object) -> IrDef:
            self.calls.append((name, *arguments))
            return self

        return note


class Attr:
    """torchair.ge.attr: equal names are equal classes."""

    def __getattr__(self, kind: str) -> Any:  # noqa: ANN401 - as torchair's
        return lambda value: Value(kind, value)


@contextmanager
def torchair_recorded() -> Iterator[None]:
    """Put modules in place of torchair's, in which a node is what it was made of."""

    def auto_convert_to_tensor(*flags: object, inputs_tensor_type: object = None) -> Any:  # noqa: ANN401 - a decorator
        def decorate(function: Any) -> Any:  # noqa: ANN401 - as above
            function.converted = (*flags, inputs_tensor_type)
            return function

        return decorate

    numbers = types.SimpleNamespace(
        **{f"DT_{name}": n for name, n in DTYPE_NUMBERS.items() if name}
    )
    members: Mapping[str, Mapping[str, object]] = {
        "torchair": {},
        "torchair.ge": {"Tensor": object, "DataType": numbers, "attr": Attr()},
        "torchair.ge._ge_graph": {
            "TensorType": type("TensorType", (), {"__getattr__": lambda _, name: name})(),
            "auto_convert_to_tensor": auto_convert_to_tensor,
        },
        "torchair._ge_concrete_graph": {},
        "torchair._ge_concrete_graph.compat_ir": {"ge_op": lambda **node: node, "IrDef": IrDef},
    }
    modules = {name: types.ModuleType(name) for name in members}
    for name, values in members.items():
        vars(modules[name]).update(values)
    with mock.patch.dict(sys.modules, modules):
        yield


def executed(text: str) -> dict[str, Any]:
    """Return the names of a generated module."""
    found: dict[str, Any] = {}
    with torchair_recorded():
        exec(compile(text, "generated.py", "exec"), found)  # noqa: S102 - it was generated here
    return found


NAMES = [
    *("x", "y", "lambda", "None", "async", "attr", "dependencies", "node_name", "size_of_y"),
    *("inputs", "List", "ge_op", "op_type", "x_changed_as_duplicate_with_input"),
]
CLASSES = {
    "Int": ("Int", int),
    "Float": ("Float", float),
    "Bool": ("Bool", bool),
    "String": ("Str", str),
    "AscendString": ("Str", str),
    "Type": ("DataType", int),
    "ListInt": ("ListInt", list),
    "ListFloat": ("ListFloat", list),
    "ListBool": ("ListBool", list),
    "ListString": ("ListStr", list),
    "ListAscendString": ("ListStr", list),
    "ListType": ("ListDataType", list),
    "ListListInt": ("ListListInt", list),
}


@st.composite
def drawn(draw: st.DrawFn) -> Prototype:
    """Draw a prototype whose names are hard."""

    def ports(*presences: Presence) -> tuple[Port, ...]:
        return tuple(
            Port(
                name=name,
                presence=draw(st.sampled_from(presences)),
                dtypes=draw(st.sampled_from([("DT_FLOAT", "DT_BF16"), ("ALL",), ()])),
            )
            for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
        )

    return Prototype(
        op_type=draw(st.sampled_from(["AddCustom", "Add_V2", "attr", "Tensor", "None", "Cast"])),
        inputs=ports("required", "optional", "dynamic"),
        outputs=ports("required", "dynamic"),
        attributes=tuple(
            draw(attribute(name))
            for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
        ),
        graphs=draw(st.sampled_from([()] * 9 + [(Graph(name="then"),)])),
    )


@st.composite
def attribute(draw: st.DrawFn, name: str) -> Attribute:
    """Draw an attribute."""
    kind = draw(st.sampled_from(sorted(ATTRIBUTE_KINDS)))
    dtypes = st.lists(st.sampled_from(["DT_FLOAT", "DT_INT4"]), max_size=2).map(tuple)
    values = {**DEFAULTS, "ListType": dtypes}
    required = draw(st.booleans())
    return Attribute(
        name=name,
        ctype=ATTRIBUTE_TYPES.get(kind),
        required=required,
        default=draw(values[kind]) if kind in values and not required else None,
        kind="" if kind in ATTRIBUTE_TYPES else kind,
    )


def with_none(value: object, kind: str) -> object:
    """Return a default as a value of Python; None stands for what C++ makes of nothing."""
    numbers = {f"DT_{name}": number for name, number in DTYPE_NUMBERS.items()}
    if value is None:
        nothing = {"Int": 0, "Float": 0.0, "Bool": False, "Type": numbers["DT_UNDEFINED"]}
        return [] if kind.startswith("List") else nothing.get(kind, "")
    if isinstance(value, tuple):
        return [with_none(each, kind.removeprefix("List")) for each in value]
    return numbers.get(value, value) if isinstance(value, str) and "Type" in kind else value


def plain(name: str) -> str:
    """Return a name that Python can have."""
    return f"{name}_changed_as_is_python_key" if keyword.iskeyword(name) else name


@settings(max_examples=60)
@given(drawn())
def test_signatures_and_nodes_are_as_the_prototype_declares(prototype: Prototype) -> None:
    (read,) = prototypes_of(f"namespace ge {{\n{write_reg_op(prototype)};\n}}\n")
    text = emit_raw_ops([read], source="f.h")
    names = executed(text)
    dynamic = [port for port in prototype.outputs if port.presence == "dynamic"]
    name = ("_" if dynamic else "") + plain(prototype.op_type)
    if explain_skip(prototype) is not None:
        assert f"# {prototype.op_type} has none: {explain_skip(prototype)}\n" in text
        assert "# Functions: 0, of 1 operator.\n" in text
        assert names["__all__"] == []
        return
    assert names["__all__"] == [name]
    function = names[name]
    kept = [each for each in prototype.attributes if each.type_name in CLASSES]
    attributes = [each for each in kept if each.required] + [a for a in kept if not a.required]
    parameters = list(inspect.signature(function).parameters.values())
    check_parameters(parameters, prototype.inputs, dynamic, attributes)
    check_node(function, prototype, dynamic, attributes)


def check_parameters(
    parameters: list[inspect.Parameter],
    inputs: tuple[Port, ...],
    dynamic: list[Port],
    attributes: list[Attribute],
) -> None:
    """Check order, kinds, names and defaults."""
    assert parameters[-2].name == "dependencies"
    assert parameters[-1].name == "node_name"
    place, rest = parameters[: len(inputs)], parameters[len(inputs) :]
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in place)
    assert all(p.kind is p.KEYWORD_ONLY for p in rest)
    sizes, given_ones = rest[: len(dynamic)], rest[len(dynamic) : -2]
    assert [p.name for p in sizes] == [f"size_of_{plain(port.name)}" for port in dynamic]
    assert len(given_ones) == len(attributes)
    taken = {"dependencies", "node_name", *(p.name for p in sizes)}
    for parameter, port in zip(place, inputs, strict=True):
        if plain(port.name) not in taken:
            assert parameter.name == plain(port.name)
        else:
            assert parameter.name == f"{port.name}_changed_as_is_reserved"
    for parameter, attribute in zip(given_ones, attributes, strict=True):
        is_input = any(port.name == attribute.name for port in inputs)
        expected = attribute.name if is_input else plain(attribute.name)
        suffix = "_changed_as_duplicate_with_input" if is_input else ""
        assert parameter.name.startswith(f"{expected}{suffix}")
        if attribute.required:
            assert parameter.default is parameter.empty
        else:
            assert parameter.default == with_none(attribute.default, attribute.type_name)


def check_node(
    function: Any,  # noqa: ANN401 - generated
    prototype: Prototype,
    dynamic: list[Port],
    attributes: list[Attribute],
) -> None:
    """Check what a call makes: the prototype's names in its order, and the values given."""
    parameters = inspect.signature(function).parameters
    keywords = {
        name: f"value of {name}" for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY
    }
    tensors = [f"tensor {index}" for index in range(len(prototype.inputs))]
    node = function(*tensors, **keywords)
    assert node["op_type"] == prototype.op_type
    names = [port.name for port in prototype.inputs]
    assert list(node["inputs"].items()) == list(zip(names, tensors, strict=True))
    passed = list(keywords.values())[len(dynamic) : -2]
    assert list(node["attrs"].items()) == [
        (each.name, Value(CLASSES[each.type_name][0], value))
        for each, value in zip(attributes, passed, strict=True)
    ]
    sizes = iter(keywords.values())
    assert node["outputs"] == [
        (port.name, next(sizes)) if port.presence == "dynamic" else port.name
        for port in prototype.outputs
    ]
    assert node["dependencies"] == "value of dependencies"
    assert node["node_name"] == "value of node_name"
    words = {"required": "", "optional": "optional_", "dynamic": "dynamic_"}
    assert [(call[0], call[1]) for call in node["ir"].calls] == [
        ("type", prototype.op_type),
        *((f"{words[port.presence]}input", port.name) for port in prototype.inputs),
        *(("required_attr" if each.required else "attr", each.name) for each in attributes),
        *((f"{words[port.presence]}output", port.name) for port in prototype.outputs),
    ]
    assert function.converted[0] == [port.presence == "dynamic" for port in prototype.inputs]
    assert function.converted[1] == [port.presence == "optional" for port in prototype.inputs]


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ("TensorType({DT_FLOAT})", None),
        ("TensorType({DT_INT64, ge::DT_INT32})", "TT_INDEX_NUMBER"),
        ("ge::TensorType::IndexNumberType()", "TT_INDEX_NUMBER"),
        ("TensorType::ALL()", "TT_ALL"),
        ("TensorType::RealNumberType()", "TT_REAL_NUMBER"),
        ("TensorType::UnsignedDataType()", "TT_UNSIGNED"),
        ("TensorType::FLOAT()", "TT_FLOAT"),
        ('"T"', None),
    ],
)
def test_how_torchair_makes_tensors_of_numbers(dtypes: str, expected: str | None) -> None:
    text = f"REG_OP(A).INPUT(x, {dtypes}).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(A)"
    function = executed(emit_raw_ops(prototypes_of(text), source="f.h"))["A"]
    assert function.converted == ([False], [False], [expected] if expected else None)


def test_operators_may_have_the_names_that_functions_use() -> None:
    names = ["Tensor", "List", "attr", "ge_op", "IrDef", "DataType", "auto_convert_to_tensor"]
    text = "\n".join(
        f"REG_OP({name}).DYNAMIC_INPUT(attr, TensorType::ALL()).ATTR(IrDef, Type, DT_INT8)"
        f".OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG({name})"
        for name in names
    )
    found = executed(emit_raw_ops(prototypes_of(text), source="f.h"))
    for name in names:
        node = found[name](["tensor"])
        assert node["op_type"] == name
        assert node["attrs"] == {"IrDef": Value("DataType", DTYPE_NUMBERS["INT8"])}


# The functions that TorchAir ships: most are what the original generator made, some are changed by
# hand, most of these for optional inputs with defaults and names that differ from the prototype's.
SHIPPED = re.compile(
    r'^(@auto_convert_to_tensor\(.*?\))\n(def \w+\(.*?\):).*?\n    """REG_OP\((\w+)\)',
    re.MULTILINE | re.DOTALL,
)
CHANGED_BY_HAND = 60


def shape_of(head: str) -> tuple[str, list[str], list[tuple[str, object]]]:
    """Return decorator, positional parameters, and the others with their defaults."""
    (function,) = ast.parse(f"{head} pass").body
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    defaults = [default and ast.unparse(default) for default in arguments.kw_defaults]
    return (
        ast.unparse(function.decorator_list[0]),
        [ast.unparse(each) for each in (*arguments.args, *arguments.defaults)],
        [(ast.unparse(a), d) for a, d in zip(arguments.kwonlyargs, defaults, strict=True)],
    )


def as_written(default: object) -> object:
    """Return a default with the six digits of the original generator; dtypes as numbers."""
    if not isinstance(default, str):
        return default
    if default.startswith("DataType.DT_"):
        return DTYPE_NUMBERS[default.removeprefix("DataType.DT_")]
    value = ast.literal_eval(default)
    rounded = (
        [round(v, 6) for v in value] if isinstance(value, list) and default.count(".") else value
    )
    return round(rounded, 6) if isinstance(rounded, float) else rounded


def test_functions_are_those_that_torchair_ships() -> None:
    place = importlib.util.find_spec("torch_npu")
    assert place is not None
    assert place.submodule_search_locations is not None
    source = (Path(place.submodule_search_locations[0]) / GENERATED).read_text(encoding="utf-8")
    shipped = {match[3]: shape_of(f"{match[1]}\n{match[2]}") for match in SHIPPED.finditer(source)}
    prototypes = [found for name in shipped if (found := of_torchair(name)) is not None]
    text = emit_raw_ops(prototypes, source="all_ops.h")
    made = {m[3]: shape_of(f"{m[1]}\n{m[2]}") for m in SHIPPED.finditer(text)}
    assert len(shipped) > 1700
    assert list(made) == list(shipped)
    differing = [name for name in shipped if not alike(made[name], shipped[name])]
    assert len(differing) <= CHANGED_BY_HAND, differing


def alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - of shape_of
    """Return whether two functions have one signature."""
    keywords = [[(name, as_written(value)) for name, value in each[2]] for each in (one, other)]
    return one[:2] == other[:2] and keywords[0] == keywords[1]
