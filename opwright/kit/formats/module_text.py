"""A declaration -> the text of the Python module that declares it.

Only fields that differ from the defaults are written. An operator without a reference function is
declared with `ops.declare(...)`; with one, the same call is the decorator `@ops.operator(...)`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.aclnn.reg_op import parse_reg_op, write_reg_op
from opwright.kit.declare.backward import BackwardCall, BackwardFunction, BackwardReference
from opwright.kit.declare.call import Actual, Call, DrawnFrom, DtypeOf, Literal, Named, parse_call
from opwright.kit.declare.operator import Operator
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    DtypeSet,
    EachOf,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.formats.errors import NotWritableError
from opwright.kit.formats.python_text import (
    WIDTH,
    Atom,
    Calling,
    Node,
    Table,
    Text,
    Tuple,
    node_of,
    render,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.aclnn.prototype import Prototype
    from opwright.kit.declare.operator import Declaration, Deprecation
    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.sample import Value

__all__ = ["declaration_module"]

SET = "ops"
VERSION = "0.1.0"  # OperatorSet's default


def declaration_module(declaration: Declaration) -> str:
    """Write the module of a declaration.

    Raises
    ------
    NotWritableError
        OPW-S006: the declaration has Python functions; its module is its source.

    Examples
    --------
    >>> from opwright.kit.declare.operator import Declaration, Source
    >>> from opwright.kit.declare.place import Place
    >>> from opwright.kit.declare.schema_text import parse_schema
    >>> place = Place("example")
    >>> operator = Operator(schema=parse_schema("neg(Tensor x) -> Tensor", where=""), place=place)
    >>> print(declaration_module(Declaration(namespace="my_ops", version="1.0", place=place,
    ...                                      source=Source(name=""), operators=(operator,))))
    \"\"\"Operators of my_ops.\"\"\"
    <BLANKLINE>
    from __future__ import annotations
    <BLANKLINE>
    import opwright as ow
    <BLANKLINE>
    ops = ow.OperatorSet("my_ops", version="1.0")
    <BLANKLINE>
    ops.declare("neg(Tensor x) -> Tensor")
    <BLANKLINE>
    """
    name = declaration.source.name
    origin = f", read from {name}" if name and not name.endswith(".py") else ""
    doc = declaration.doc or f"Operators of {declaration.namespace}{origin}."
    if len(docstring(doc)) > WIDTH:
        doc = f"Operators of {declaration.namespace}."
    body = [operator_text(operator) for operator in declaration.operators]
    names = [
        rule for rule in ("DtypeArgument", "Deprecation") if any(f"{rule}(" in b for b in body)
    ]
    keywords: list[tuple[str, Node]] = []
    if declaration.version != VERSION:
        keywords.append(("version", Text(declaration.version)))
    keywords += [
        (key, Text(value))
        for key, value in (("torch", declaration.torch), ("torch_npu", declaration.torch_npu))
        if value is not None
    ]
    creation = Calling("ow.OperatorSet", [Text(declaration.namespace)], tuple(keywords))
    lines = [
        docstring(doc),
        "",
        "from __future__ import annotations",
        "",
        "import opwright as ow",
        *([f"from opwright.declare import {', '.join(sorted(names))}"] if names else []),
        "",
        f"{SET} = {render(creation, before=len(SET) + 3)}",
    ]
    return "\n".join(lines) + "\n" + "".join(f"\n{text}\n" for text in body)


def docstring(text: str) -> str:
    """Write the docstring of the module."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}"""'


def operator_text(operator: Operator) -> str:
    """Write the call that declares an operator."""
    fields = tuple(fields_of(operator))
    call = Calling(f"{SET}.declare", [Text(str(operator.schema))], fields, exploded=bool(fields))
    return render(call)


DEFAULTS = {
    field.name: field.default
    for field in dataclasses.fields(Operator)
    if field.default is not dataclasses.MISSING
}
PLAIN = ("autocast", "cost_budget", "deterministic", "functional", "tags", "torch", "torch_npu")


def fields_of(operator: Operator) -> Iterator[tuple[str, Node]]:
    """Return the fields that differ from the defaults, in the order of the documentation."""
    where = f"{operator.place}, operator {operator.name}"
    refuse_functions(operator, where=where)
    if operator.call is not None:
        yield "aclnn", call_node(operator.call, where=where)
    if operator.prototype is not None:
        yield "prototype", prototype_node(operator.prototype, where=where)
    if operator.requires:
        yield "requires", node_of(operator.requires)
    if operator.unspecified:
        yield "unspecified", Table({name: Text(t) for name, t in operator.unspecified.items()})
    if operator.relations:
        yield "relations", node_of(tuple(map(str, operator.relations)))
    yield from rules_of(operator)
    if operator.backward is not None:
        yield "backward", backward_node(operator)
    if operator.vmap != "loop":
        yield "vmap", node_of(operator.vmap)
    yield from samples_of(operator)
    for name in PLAIN:
        value = getattr(operator, name)
        if value != DEFAULTS[name]:
            yield name, node_of(value)
    if operator.deprecated is not None:
        yield "deprecated", deprecation_node(operator.deprecated)
    if operator.upstream is not None:
        entries = {"section": operator.upstream.section, **dict(operator.upstream.entries)}
        yield "upstream", Table({key: Text(value) for key, value in entries.items()})


def rules_of(operator: Operator) -> Iterator[tuple[str, Node]]:
    """Return the fields with rules by name."""
    if operator.shapes:
        yield "shapes", Table({name: shape_node(r) for name, r in operator.shapes.items()})
    if operator.dtypes:
        yield "dtypes", Table({name: dtype_node(r) for name, r in operator.dtypes.items()})
    if operator.layouts:
        yield "layouts", Table({name: Text(layout) for name, layout in operator.layouts.items()})


def samples_of(operator: Operator) -> Iterator[tuple[str, Node]]:
    """Return the fields with samples and what they are compared with."""
    if operator.samples:
        samples = [sample_node("ow.sample", [], s.values) for s in operator.samples]
        yield "samples", Tuple(samples)
    if operator.errors:
        errors = [sample_node("ow.error", [Text(e.match)], e.values) for e in operator.errors]
        yield "errors", Tuple(errors)
    if operator.tolerances:
        tolerances = operator.tolerances.items()
        yield "tolerances", Table({name: node_of((t.rtol, t.atol)) for name, t in tolerances})


def refuse_functions(operator: Operator, *, where: str) -> None:
    """Raise if an operator has Python functions."""
    functions: list[tuple[str, Callable[..., object] | None]] = [
        ("a reference function", operator.reference),
        ("a batching rule", None if isinstance(operator.vmap, str) else operator.vmap),
    ]
    if isinstance(operator.backward, BackwardFunction):
        functions.append(("a backward function", operator.backward.function))
    functions += [
        (f"a shape function for {name!r}", rule.function)
        for name, rule in operator.shapes.items()
        if isinstance(rule, ShapeFunction)
    ]
    for what, function in functions:
        if function is not None:
            raise NotWritableError(
                where=where,
                got=what,
                fix="keep the module that declares it: functions have no other text",
            )


def call_node(call: Call | bool, *, where: str) -> Node:  # noqa: FBT001 - False is a value of the field
    """Write the field aclnn."""
    if isinstance(call, bool):
        return Atom("False")
    text = call.function
    if call.actuals is not None:
        text += f"({', '.join(actual_text(actual) for actual in call.actuals)})"
    if parse_call(text, where=where) != call:
        raise NotWritableError(where=f"{where}, aclnn", got=text)
    return Text(text)


def actual_text(actual: Actual) -> str:
    """Write a parameter of a call."""
    match actual.source:
        case Named(name, None):
            text = name
        case Named(name, Literal() as otherwise):
            text = f"{name} or {literal_text(otherwise)}"
        case DtypeOf(name):
            text = f"{name}.dtype"
        case DrawnFrom(name, part):
            text = f"{name}.{part}"
        case Literal():
            text = literal_text(actual.source)
    return text if actual.ctype is None else f"{actual.ctype.value} {text}"


WORDS = {True: "true", False: "false"}


def literal_text(literal: Literal) -> str:
    """Write a constant of a call."""
    value = literal.value
    if value is None:
        return "nullptr"
    if isinstance(value, bool):
        return WORDS[value]
    return f"'{value}'" if isinstance(value, str) and is_simple(value) else repr(value)


def is_simple(text: str) -> bool:
    """Whether a text needs no escapes."""
    return text.isprintable() and not set(text) & {"'", "\\"}


def prototype_node(prototype: Prototype | str | bool, *, where: str) -> Node:  # noqa: FBT001 - as above
    """Write the field prototype: an operator type, or REG_OP in lines."""
    if isinstance(prototype, bool):
        return Atom("False")
    if isinstance(prototype, str):
        return Text(prototype)
    text = write_reg_op(prototype)
    if parse_reg_op(text, where=where) != (prototype,):
        raise NotWritableError(
            where=f"{where}, prototype",
            got="a prototype with what REG_OP has no words for",
            fix="leave out columns, versions, scalars and values of ports; the call has them",
        )
    if '"""' in text or "\\" in text:
        return Text(text)
    return Atom(f'"""\n{text}\n"""')


def shape_node(rule: ShapeRule) -> Node:
    """Write a shape rule."""
    match rule:
        case Dims(text):
            return Text(text)
        case Like(tensor):
            return Calling("ow.like", [Text(tensor)])
        case BroadcastOf(tensors):
            return Calling("ow.broadcast", [Text(tensor) for tensor in tensors])
        case ReducedOf(tensor, dim, keepdim):
            given = (("dim", dim), ("keepdim", keepdim))
            keywords = tuple((key, Text(value)) for key, value in given if value is not None)
            return Calling("ow.reduced", [Text(tensor)], keywords)
        case EachOf(count, shape):
            return Calling("ow.each", [Text(count), shape_node(shape)])
        case Cpp(text):
            return Calling("ow.cpp", [Text(text)])
        case ShapeFunction():
            message = "functions were refused before"
            raise AssertionError(message)
        case _:
            assert_never(rule)


def dtype_node(rule: DtypeRule) -> Node:
    """Write a dtype rule."""
    match rule:
        case DtypeSet(names):
            return Text(" ".join(names))
        case SameDtype(tensor, is_each):
            return Text(f"{tensor}[i]" if is_each else tensor)
        case Promoted(tensors):
            return Calling("ow.promote", [Text(tensor) for tensor in tensors])
        case DtypeArgument(name, SameDtype() | DtypeSet() | DtypeArgument() as otherwise):
            inner = dtype_node(otherwise)
            assert isinstance(inner, Text), "it is a name, or names"
            return Text(f"{name} or {inner.value}")
        case DtypeArgument(name, otherwise) if otherwise is not None:
            return Calling("DtypeArgument", [Text(name), dtype_node(otherwise)])
        case DtypeArgument(name):
            return Text(name)
        case Cpp(text):
            return Calling("ow.cpp", [Text(text)])
        case _:
            assert_never(rule)


def backward_node(operator: Operator) -> Node:
    """Write the field backward."""
    match operator.backward:
        case BackwardReference(()):
            return Text("reference")
        case BackwardCall(formulas):
            if (
                len(formulas) == 1
                and not formulas[0].inputs
                and formulas[0].expression != "reference"
            ):
                return Text(formulas[0].expression)
            return Table({", ".join(f.inputs): Text(f.expression) for f in formulas})
        case _:
            raise NotWritableError(
                where=f"{operator.place}, operator {operator.name}, backward",
                got=repr(operator.backward),
            )


def deprecation_node(deprecated: Deprecation) -> Node:
    """Write the field deprecated."""
    if deprecated.use is None:
        return Text(deprecated.since)
    keywords = (("since", Text(deprecated.since)), ("use", Text(deprecated.use)))
    return Calling("Deprecation", [], keywords)


def sample_node(function: str, first: list[Node], values: tuple[tuple[str, Value], ...]) -> Node:
    """Write a sample."""
    return Calling(function, first, tuple((name, value_node(value)) for name, value in values))


def value_node(value: Value) -> Node:
    """Write a value of a sample."""
    if isinstance(value, TensorSpec):
        layout = None if value.layout == "contiguous" else value.layout
        bounds = (("low", value.low), ("high", value.high))
        values = None if value.values is None else list(value.values)
        options = (("dtype", value.dtype), *bounds, ("layout", layout), ("values", values))
        keywords = tuple((name, node_of(each)) for name, each in options if each is not None)
        return Calling("ow.tensor", [node_of(size) for size in value.shape], keywords)
    if isinstance(value, tuple):
        return Tuple([value_node(item) for item in value])
    return node_of(value)
