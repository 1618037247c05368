"""A typed Python function -> a schema.

`Tensor` is torch's class, known by its name, so that nothing here imports torch. An int becomes a
SymInt, as sizes are the usual ints and a SymInt takes both. `Literal` and enumerations of strings
and ints become str and int.
"""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Sequence

from opwright.kit.declare.errors import FunctionSchemaError
from opwright.kit.declare.schema import Alias, Argument, Base, Result, Schema, ValueType

__all__ = ["function_schema"]

NAMES = {
    "Tensor": Base.TENSOR,
    "int": Base.SYMINT,
    "SymInt": Base.SYMINT,
    "float": Base.FLOAT,
    "bool": Base.BOOL,
    "str": Base.STR,
    "dtype": Base.SCALAR_TYPE,
    "device": Base.DEVICE,
    "layout": Base.LAYOUT,
    "memory_format": Base.MEMORY_FORMAT,
    "Generator": Base.GENERATOR,
}
# typing.Union[int, float, bool] and torch.types.Number: what PyTorch calls a Scalar.
SCALAR = frozenset({int, float, bool})


def function_schema(
    function: Callable[..., object], *, name: str, mutates: Sequence[str], where: str
) -> Schema:
    """Derive the schema of an operator from its reference function.

    Parameters
    ----------
    name
        Name of the operator, with its overload if it has one.
    mutates
        Parameters that the operator writes. A result of the same name is that parameter.

    Raises
    ------
    FunctionSchemaError
        OPW-D002.
    """
    place = f"{where}, function {function.__name__}"
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise FunctionSchemaError(
            where=place, got=str(error), fix="import the name outside of TYPE_CHECKING"
        ) from error
    parameters = inspect.signature(function).parameters
    unknown = [each for each in mutates if each not in parameters]
    if unknown:
        raise FunctionSchemaError(
            where=f"{place}, mutates",
            got=repr(unknown[0]),
            allowed=parameters,
            near=unknown[0],
            fix="name a parameter",
        )
    letters = dict(zip(mutates, "abcdefghijklmnopqrstuvwxyz", strict=False))
    arguments = tuple(
        argument(parameter, hints, letters.get(parameter.name), where=place)
        for parameter in parameters.values()
    )
    if "return" not in hints:
        raise FunctionSchemaError(where=place, got="no annotation of the result")
    base, _, overload = name.partition(".")
    results = tuple(read_results(hints["return"], where=f"{place}, result"))
    return Schema(name=base, overload=overload, arguments=arguments, results=results)


def argument(
    parameter: inspect.Parameter, hints: dict[str, object], letter: str | None, *, where: str
) -> Argument:
    """Turn one parameter into an argument."""
    place = f"{where}, parameter {parameter.name!r}"
    if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
        raise FunctionSchemaError(
            where=place, got=str(parameter), fix="name each parameter: a schema has no * or **"
        )
    if parameter.name not in hints:
        raise FunctionSchemaError(where=place, got="no annotation")
    has_default = parameter.default is not parameter.empty
    return Argument(
        name=parameter.name,
        type=value_type(hints[parameter.name], where=place),
        default=default_text(parameter.default, where=place) if has_default else None,
        alias=Alias(name=letter, is_write=True) if letter else None,
        keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
    )


def read_results(hint: object, *, where: str) -> typing.Iterator[Result]:
    """Turn the annotation of the result into results."""
    if hint is type(None):
        return
    fields = typing.get_type_hints(hint) if is_named_tuple(hint) else None
    if fields is not None:
        for name, each in fields.items():
            yield Result(type=value_type(each, where=where), name=name)
    elif typing.get_origin(hint) is tuple:
        for each in typing.get_args(hint):
            yield Result(type=value_type(each, where=where))
    else:
        yield Result(type=value_type(hint, where=where))


def is_named_tuple(hint: object) -> bool:
    """Return whether an annotation is a NamedTuple, whose fields name the results."""
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def value_type(hint: object, *, where: str) -> ValueType:
    """Turn an annotation into the type of a schema."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        inner = [part for part in parts if part is not type(None)]
        optional = len(inner) < len(parts)
        if frozenset(inner) == SCALAR:
            return ValueType(base=Base.SCALAR, optional=optional)
        if len(inner) == 1 and optional:
            plain = value_type(inner[0], where=where)
            return ValueType(
                base=plain.base,
                is_list=plain.is_list,
                length=plain.length,
                optional=True,
                optional_elements=plain.optional_elements,
            )
    elif origin in {list, Sequence} and len(parts) == 1:
        element = value_type(parts[0], where=where)
        if not element.is_list:
            return ValueType(base=element.base, is_list=True, optional_elements=element.optional)
    elif origin is typing.Literal and len({type(part) for part in parts}) == 1:
        return value_type(type(parts[0]), where=where)
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        base = next((base for base in (str, int) if base in hint.__mro__), None)
        if base is not None:
            return value_type(base, where=where)
    elif isinstance(hint, type) and hint.__name__ in NAMES:
        return ValueType(base=NAMES[hint.__name__])
    raise FunctionSchemaError(
        where=where,
        got=f"annotation {hint!r}",
        allowed=(*sorted(NAMES), "int | float | bool", "list[...]", "Literal[...]", "... | None"),
        fix="use a type that PyTorch's schemas have, or give the schema as text",
    )


def default_text(value: object, *, where: str) -> str:
    """Write a default as schemas do."""
    plain = value.value if isinstance(value, enum.Enum) else value
    if plain is None or isinstance(plain, bool | int | float):
        return repr(plain)
    if isinstance(plain, str):
        return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(plain, list | tuple):
        return f"[{', '.join(default_text(item, where=where) for item in plain)}]"
    raise FunctionSchemaError(
        where=where,
        got=f"default {value!r}",
        allowed=("None", "numbers", "strings", "lists of them"),
        fix="give a default that a schema can have",
    )
