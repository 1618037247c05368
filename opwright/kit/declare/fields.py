"""The fields of an operator as an author writes them -> data."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, cast

from opwright.aclnn.prototype import Prototype
from opwright.aclnn.reg_op import parse_reg_op
from opwright.kit.declare.backward import (
    Backward,
    BackwardCall,
    BackwardFunction,
    BackwardReference,
    Formula,
)
from opwright.kit.declare.call import parse_call
from opwright.kit.declare.errors import FieldError, UnknownNameError
from opwright.kit.declare.function_schema import function_schema
from opwright.kit.declare.operator import Deprecation, Operator, Upstream
from opwright.kit.declare.relations import read_relations
from opwright.kit.declare.reserved import check_word
from opwright.kit.declare.rules import Dims, ShapeFunction, read_dtypes
from opwright.kit.declare.sample import Tolerance
from opwright.kit.declare.schema import Base
from opwright.kit.declare.schema_text import parse_schema, split
from opwright.kit.declare.texts import check_document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.kit.declare.call import Call
    from opwright.kit.declare.operator import Autocast, Layout, Vmap
    from opwright.kit.declare.place import Place
    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.sample import ErrorSample, Sample
    from opwright.kit.declare.schema import Schema

__all__ = ["OperatorFields", "read_operator"]


class OperatorFields(TypedDict, total=False):
    """The fields of an operator; `OperatorSet.operator` documents them."""

    mutates: Sequence[str]
    aclnn: str | Literal[False]
    prototype: str | Path | Prototype | Literal[False]
    requires: str | Sequence[str]
    unspecified: Mapping[str, str]
    relations: str | Sequence[str]
    shapes: Mapping[str, ShapeRule | str | tuple[()] | Callable[..., Sequence[object]]]
    dtypes: str | Sequence[str] | Mapping[str, str | Sequence[str] | DtypeRule]
    layouts: Mapping[str, Layout]
    backward: str | Mapping[str, str] | Backward
    converter: Callable[..., object]
    vmap: Vmap | Callable[..., object]
    autocast: Autocast
    samples: Sequence[Sample]
    errors: Sequence[ErrorSample]
    tolerances: Mapping[str, Tolerance | tuple[float, float]]
    deterministic: bool
    cost_budget: float
    functional: str
    tags: Sequence[str]
    torch: str
    torch_npu: str
    deprecated: str | Deprecation
    upstream: Mapping[str, str] | Upstream


# Fields that are dicts, and what their keys name.
KEYS: Mapping[Literal["unspecified", "shapes", "layouts", "tolerances"], str] = {
    "unspecified": "output",
    "shapes": "argument or output",
    "layouts": "argument or output",
    "tolerances": "dtype",
}


# The shape of a 0-d tensor, as authors write it.
EMPTY: tuple[object, ...] = ("()", "[]", (), [])


def read_operator(
    namespace: str,
    text: str | None,
    function: Callable[..., object] | None,
    fields: OperatorFields,
    place: Place,
    *,
    is_existing: bool = False,
) -> Operator:
    """Turn what the author wrote into data.

    Parameters
    ----------
    is_existing
        Whether another library has the operator, with the names that it has.

    Raises
    ------
    SchemaError, FunctionSchemaError, RuleError, DtypeError, CallError, FieldError
        OPW-D001 to OPW-D009.
    """
    check_fields(fields, where=str(place))
    check_mappings(fields, where=str(place))
    check_texts(text, function, fields, where=str(place))
    schema = read_schema(text, function, fields.get("mutates", ()), where=str(place))
    where = f"{place}, operator {namespace}::{schema.full_name}"
    if "upstream" not in fields and not is_existing:  # what is elsewhere has its names already
        check_names(schema, where=where)
    arguments = [argument.name for argument in schema.arguments]
    deprecated = fields.get("deprecated")
    return Operator(
        schema=schema,
        place=place,
        reference=function,
        doc=inspect.cleandoc(function.__doc__ or "") if function else "",
        call=read_call(fields.get("aclnn"), where=where),
        prototype=read_prototype(fields.get("prototype"), place, where=where),
        requires=read_requires(fields.get("requires", ())),
        unspecified=dict(fields.get("unspecified", {})),
        relations=read_relations(fields.get("relations", ()), where=f"{where}, relations"),
        shapes={
            name: read_shape(rule, where=f"{where}, shape of {name!r}")
            for name, rule in fields.get("shapes", {}).items()
        },
        dtypes=dtype_rules(fields.get("dtypes", {}), schema, where=where),
        layouts=read_layouts(fields.get("layouts", {}), where=where),
        backward=read_backward(fields.get("backward"), arguments, where=where),
        converter=fields.get("converter"),
        vmap=fields.get("vmap", "loop"),
        autocast=fields.get("autocast"),
        samples=tuple(fields.get("samples", ())),
        errors=tuple(fields.get("errors", ())),
        tolerances={
            dtype: value if isinstance(value, Tolerance) else Tolerance(*value)
            for dtype, value in fields.get("tolerances", {}).items()
        },
        deterministic=fields.get("deterministic", True),
        cost_budget=fields.get("cost_budget"),
        functional=fields.get("functional"),
        tags=tuple(fields.get("tags", ())),
        torch=fields.get("torch"),
        torch_npu=fields.get("torch_npu"),
        deprecated=Deprecation(since=deprecated) if isinstance(deprecated, str) else deprecated,
        upstream=read_upstream(fields.get("upstream")),
    )


def check_fields(fields: OperatorFields, *, where: str) -> None:
    """Raise FieldError if a field is not one of an operator's."""
    unknown = fields.keys() - OperatorFields.__annotations__.keys()
    if unknown:
        name = min(unknown)
        raise FieldError(
            where=where,
            got=f"a field {name!r}",
            allowed=OperatorFields.__annotations__,
            near=name,
        )


def check_mappings(fields: OperatorFields, *, where: str) -> None:
    """Raise FieldError if a field that takes a dict has something else."""
    for field, key in KEYS.items():
        value = fields.get(field, {})
        if not isinstance(value, Mapping):
            raise FieldError(
                where=f"{where}, {field}",
                got=repr(value),
                fix=f"give a dict from each {key} to its value",
            )


def check_texts(
    schema: str | None,
    function: Callable[..., object] | None,
    fields: OperatorFields,
    *,
    where: str,
) -> None:
    """Raise FieldError if a text has characters that no source code can have."""
    rules = fields.get("shapes", {}).values()
    texts: dict[str, Sequence[object]] = {
        "schema": [schema],
        "docstring": [function and function.__doc__],
        "requires": read_requires(fields.get("requires", ())),
        "unspecified": list(fields.get("unspecified", {}).values()),
        "shapes": [rule.text if isinstance(rule, Dims) else rule for rule in rules],
        "aclnn": [fields.get("aclnn")],
    }
    for field, values in texts.items():
        for value in values:
            if isinstance(value, str):
                check_document(value, where=f"{where}, {field}")


def check_names(schema: Schema, *, where: str) -> None:
    """Raise ReservedNameError if a name cannot be one in C++ and Python."""
    check_word(schema.name, "operator", where=where)
    for argument in schema.arguments:
        check_word(argument.name, "argument", where=where)


def read_schema(
    text: str | None,
    function: Callable[..., object] | None,
    mutates: Sequence[str],
    *,
    where: str,
) -> Schema:
    """Parse the schema, or derive it from the function."""
    if text is None or "(" not in text:
        if function is None:
            raise FieldError(
                where=where, got=f"schema {text!r}", fix="write the whole schema: NAME(...) -> ..."
            )
        name = text or function.__name__
        return function_schema(function, name=name, mutates=mutates, where=where)
    if mutates:
        raise FieldError(
            where=where,
            got="mutates beside a schema",
            fix="annotate what is written in the schema: Tensor(a!)",
        )
    return parse_schema(text, where=where)


def read_call(value: str | Literal[False] | None, *, where: str) -> Call | Literal[False] | None:
    """Read the field aclnn."""
    return parse_call(value, where=f"{where}, aclnn") if isinstance(value, str) else value


def read_prototype(
    value: str | Path | Prototype | Literal[False] | None, place: Place, *, where: str
) -> Prototype | str | Literal[False] | None:
    """Read the field prototype; a relative path is one beside the declaring file."""
    if value is None or value is False or isinstance(value, Prototype):
        return value
    if isinstance(value, str) and value.isidentifier():
        return value
    if isinstance(value, Path):
        path = Path(place.file).parent / value
        if not path.is_file():
            raise FieldError(
                where=f"{where}, prototype",
                got=f"no file {str(value)!r}",
                fix="name a file that exists",
            )
        found = parse_reg_op(path.read_text(encoding="utf-8"), where=str(value))
    else:
        found = parse_reg_op(value, where=f"{where}, prototype")
    if len(found) != 1:
        raise FieldError(
            where=f"{where}, prototype",
            got=f"{len(found)} prototypes",
            fix="give the REG_OP of one operator",
        )
    return found[0]


def read_requires(value: str | Sequence[str]) -> tuple[str, ...]:
    """Read the field requires; a text alone is one condition."""
    return (value,) if isinstance(value, str) else tuple(value)


def read_shape(
    rule: ShapeRule | str | tuple[()] | Callable[..., Sequence[object]], *, where: str
) -> ShapeRule:
    """Read one entry of the field shapes."""
    if rule in EMPTY:
        return Dims("")
    if isinstance(rule, str):
        return Dims(rule)
    if isinstance(rule, list | tuple):
        fix = 'write the sizes as a text: "N, 2 * D"; "" for a 0-d tensor'
        raise FieldError(where=where, got=repr(rule), fix=fix)
    return ShapeFunction(rule) if callable(rule) else rule


def dtype_rules(
    value: str | Sequence[str] | Mapping[str, str | Sequence[str] | DtypeRule],
    schema: Schema,
    *,
    where: str,
) -> dict[str, DtypeRule]:
    """Read the field dtypes."""
    names = [argument.name for argument in schema.arguments]
    given = [a.name for a in schema.arguments if a.type.base is Base.SCALAR_TYPE]
    if not isinstance(value, str | list | tuple | set | frozenset):
        rules = cast("Mapping[str, str | Sequence[str] | DtypeRule]", value)
        return {
            name: read_dtypes(rule, names, where=f"{where}, dtype of {name!r}", given=given)
            for name, rule in rules.items()
        }
    tensors = [argument.name for argument in schema.arguments if argument.type.has_tensors]
    if not tensors:
        raise FieldError(
            where=f"{where}, dtypes", got=repr(value), fix="give the dtype of each output by name"
        )
    first, *rest = tensors
    same = {name: read_dtypes(first, names, where=where) for name in rest}
    return {first: read_dtypes(value, (), where=f"{where}, dtypes"), **same}


def read_upstream(value: Mapping[str, str] | Upstream | None) -> Upstream | None:
    """Read the field upstream."""
    if value is None or isinstance(value, Upstream):
        return value
    entries = tuple((key, text) for key, text in value.items() if key != "section")
    return Upstream(section=value.get("section", "custom"), entries=entries)


def read_layouts(value: Mapping[str, Layout], *, where: str) -> dict[str, Layout]:
    """Read the field layouts."""
    for name, layout in value.items():
        if layout not in {"any", "contiguous"}:
            raise FieldError(
                where=f"{where}, layout of {name!r}",
                got=repr(layout),
                allowed=("any", "contiguous"),
                near=layout,
                fix="use one of them",
            )
    return dict(value)


def read_backward(
    value: str | Mapping[str, str] | Backward | None, arguments: Sequence[str], *, where: str
) -> Backward | None:
    """Read the field backward."""
    if value is None or isinstance(value, BackwardReference | BackwardFunction | BackwardCall):
        return value
    if value == "reference":
        return BackwardReference()
    if isinstance(value, str):
        return BackwardCall((Formula((), value),))
    formulas = []
    for names, expression in value.items():
        inputs = tuple(name.strip() for name in split(names))
        for name in inputs:
            if name not in arguments:
                raise UnknownNameError(
                    where=f"{where}, backward",
                    got=repr(name),
                    allowed=arguments,
                    near=name,
                    fix="name the argument that the formula gives the gradient of",
                )
        formulas.append(Formula(inputs, expression))
    return BackwardCall(tuple(formulas))
