"""The key `gen_opapi` of op-plugin's YAML <-> call, shapes and dtypes of an operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opwright.kit.declare.call import Call
from opwright.kit.declare.rules import Cpp, Like, SameDtype
from opwright.kit.formats.cpp_read import read_dtype, read_size
from opwright.kit.formats.cpp_write import dtype_text, size_text
from opwright.kit.formats.errors import EntryError, NotWritableError
from opwright.kit.formats.exec_call import Inexpressible, default_names, read_call, write_call

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.schema import Schema
    from opwright.kit.formats.yaml_text import Value

__all__ = ["Gen", "inherit", "new_outputs", "output_keys", "read_gen", "write_gen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gen:
    """The content of `gen_opapi`.

    Parameters
    ----------
    remarks
        What it says that a declaration cannot: subject and text.
    """

    call: Call
    shapes: Mapping[str, ShapeRule] = field(default_factory=dict)
    dtypes: Mapping[str, DtypeRule] = field(default_factory=dict)
    remarks: tuple[tuple[str, str], ...] = ()


def new_outputs(schema: Schema) -> tuple[str, ...]:
    """Return the names of the results that are new tensors."""
    return tuple(
        name
        for result, name in zip(schema.results, schema.output_names(), strict=True)
        if result.type.has_tensors and schema.aliased_argument(result) is None
    )


def output_keys(gen: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the keys that describe outputs."""
    return tuple(
        key for key, value in gen.items() if isinstance(value, Mapping) and key != "new_params"
    )


def names_of_outputs(gen: Mapping[str, Value], schema: Schema, *, where: str) -> dict[str, str]:
    """Return the names of outputs in a declaration by their keys.

    Raises
    ------
    EntryError
        OPW-S002: another number of outputs than the schema has.
    """
    keys = output_keys(gen)
    if schema.is_out_variant:
        unknown = [key for key in keys if schema.argument(key) is None]
        if unknown:
            raise EntryError(
                where=where,
                got=f"an output {unknown[0]!r}",
                allowed=[argument.name for argument in schema.mutated],
                fix="name the outputs of an out= operator as its schema does",
            )
        return {key: key for key in keys}
    outputs = new_outputs(schema)
    if not outputs:
        return {}
    if len(keys) != len(outputs):
        raise EntryError(
            where=where,
            got=f"{len(keys)} outputs ({', '.join(keys) or 'none'})",
            allowed=[f"{len(outputs)}, as the schema returns"],
            fix="describe each new tensor that the operator returns",
        )
    return dict(zip(keys, outputs, strict=True))


def read_gen(gen: Mapping[str, Value], schema: Schema, *, where: str) -> Gen:
    """Read what a declaration has fields for."""
    names = names_of_outputs(gen, schema, where=where)
    shapes, dtypes = read_outputs(gen, names, schema)
    call, remarks = read_exec(gen, schema, names, where=where)
    remarks += tuple(
        ("C++ expression kept as cpp()", rule.text)
        for rule in (*shapes.values(), *dtypes.values())
        if isinstance(rule, Cpp)
    )
    return Gen(call=call, shapes=shapes, dtypes=dtypes, remarks=remarks)


def read_outputs(
    gen: Mapping[str, Value], names: Mapping[str, str], schema: Schema
) -> tuple[dict[str, ShapeRule], dict[str, DtypeRule]]:
    """Read the rules of outputs."""
    shapes: dict[str, ShapeRule] = {}
    dtypes: dict[str, DtypeRule] = {}
    for key, name in names.items():
        described = gen[key]
        assert isinstance(described, Mapping), "it is a key of an output"
        size, dtype = described.get("size"), described.get("dtype")
        # An out= operator that names the output itself asks for no check.
        if size is not None and size != name:
            shapes[name] = read_size(str(size), schema)
        if dtype is not None and dtype != name:
            rule = read_dtype(str(dtype), schema)
            if not is_dtype_of_shape(rule, shapes.get(name)):
                dtypes[name] = rule
    return shapes, dtypes


def is_dtype_of_shape(rule: DtypeRule, shape: ShapeRule | None) -> bool:
    """Whether a dtype is that of the tensor whose shape the output has."""
    return isinstance(shape, Like) and rule == SameDtype(shape.tensor)


def read_exec(
    gen: Mapping[str, Value], schema: Schema, names: Mapping[str, str], *, where: str
) -> tuple[Call, tuple[tuple[str, str], ...]]:
    """Read the call, and what of it cannot be said."""
    text, new_params = gen.get("exec"), gen.get("new_params") or {}
    if not isinstance(text, str) or not isinstance(new_params, Mapping):
        raise EntryError(
            where=where,
            got=f"exec: {text}",
            fix="name the aclnn function: exec: aclnnName, or exec: aclnnName, parameter, ...",
        )
    expressions = {name: str(value) for name, value in new_params.items()}
    try:
        return read_call(text, expressions, schema, names), ()
    except Inexpressible as error:
        function = text.split(",")[0].strip()
        remark = ("parameter of the aclnn function is C++", str(error))
        return Call(function=function), (remark,)


def inherit(
    gen: Mapping[str, Value], of: Schema, schema: Schema, *, where: str
) -> Mapping[str, Value]:
    """Return what an operator has that inherits from an out= operator (`structured_inherit`).

    Parameters
    ----------
    gen
        What the out= operator has.
    of
        Its schema.
    """
    outs = [argument.name for argument in of.mutated if argument.keyword_only]
    mine = new_outputs(schema) or tuple(argument.name for argument in schema.mutated)
    renamed = dict(zip(outs, mine, strict=False))
    if not set(output_keys(gen)) <= renamed.keys():
        raise EntryError(
            where=where,
            got=f"structured_inherit: {of.full_name}, an operator with other outputs",
            fix="inherit from the out= form of this operator",
        )
    result: dict[str, Value] = {}
    for key, value in gen.items():
        if key == "exec" and isinstance(value, str):
            parts = [part.strip() for part in value.split(",")]
            if len(parts) == 1 and not new_outputs(schema):  # the operator writes its argument
                parts += default_names(schema, mine)
            result[key] = ", ".join(renamed.get(part, part) for part in parts)
        elif key in renamed and not new_outputs(schema):
            continue  # an in-place operator has no output to describe
        else:
            result[renamed.get(key, key)] = value
    return result


def write_gen(operator: Operator, *, where: str) -> dict[str, Value]:
    """Write `gen_opapi` for an operator.

    Raises
    ------
    NotWritableError
        OPW-S006.
    """
    schema = operator.schema
    if operator.call is False:
        raise NotWritableError(
            where=where,
            got="an operator made of others (aclnn=False)",
            fix="write its adapter by hand, or keep it as Python",
        )
    outputs = new_outputs(schema)
    gen: dict[str, Value] = {}
    described = outputs or tuple(a.name for a in schema.mutated if a.keyword_only)
    for name in described:
        text = output_text(operator, name, is_new=name in outputs, where=where)
        if text:
            gen[name] = text
    function, new_params = write_call(operator.call, schema, outputs, where=where)
    if new_params:
        gen["new_params"] = dict(new_params)
    gen["exec"] = function
    return gen


def output_text(operator: Operator, name: str, *, is_new: bool, where: str) -> dict[str, Value]:
    """Write the size and dtype of an output; an out= operator has only what was declared."""
    shape, dtype = operator.shapes.get(name), operator.dtypes.get(name)
    schema = operator.schema
    tensors = [a.name for a in schema.arguments if a.type.is_tensor and not a.type.optional]
    if is_new and shape is None and not tensors:
        raise NotWritableError(
            where=f"{where}, output {name!r}", got="no shape rule", fix="give its shape"
        )
    if is_new and shape is None:
        shape = Like(tensors[0])
    if dtype is None and isinstance(shape, Like):
        dtype = SameDtype(shape.tensor)
    if is_new and dtype is None:
        if not tensors:
            raise NotWritableError(
                where=f"{where}, output {name!r}", got="no dtype rule", fix="give its dtype"
            )
        dtype = SameDtype(tensors[0])
    text: dict[str, Value] = {}
    if shape is not None:
        text["size"] = size_text(shape, operator, where=f"{where}, shape of {name!r}")
    if dtype is not None:
        text["dtype"] = dtype_text(dtype)
    return text
