"""The JSON that msOpGen makes operator projects from -> prototypes.

A definition has `op`, `input_desc`, `output_desc` and `attr`. The lists `type` and `format` of a
port are columns: what stands at one index goes together. Source: msOpGen's page in CANN's guide to
operator development tools (8.0, 8.1), which also gives the words for types.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from opwright.aclnn.prototype import ATTRIBUTE_TYPES, Attribute, Port, Prototype
from opwright.errors import clip
from opwright.kit.formats.errors import MsOpGenError
from opwright.kit.formats.imported import Note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.aclnn.prototype import Default, Presence
    from opwright.kit.declare.place import Place

__all__ = ["DTYPE_WORDS", "parse_msopgen"]

DTYPE_WORDS = {
    "float": "DT_FLOAT",
    "fp32": "DT_FLOAT",
    "float32": "DT_FLOAT",
    "half": "DT_FLOAT16",
    "fp16": "DT_FLOAT16",
    "float16": "DT_FLOAT16",
    "bf16": "DT_BF16",
    "bfloat16": "DT_BF16",
    "double": "DT_DOUBLE",
    "float64": "DT_DOUBLE",
    **{f"{u}int{bits}": f"DT_{u.upper()}INT{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"{u}int{bits}": f"DT_{u.upper()}INT{bits}" for u in ("q", "qu") for bits in (8, 16)},
    "qint32": "DT_QINT32",
    "quint32": "DT_QUINT32",
    "int4": "DT_INT4",
    **{f"complex{bits}": f"DT_COMPLEX{bits}" for bits in (32, 64, 128)},
    "bool": "DT_BOOL",
    "string": "DT_STRING",
    "resource": "DT_RESOURCE",
    "numbertype": "NumberType",
    "realnumbertype": "RealNumberType",
    "all": "ALL",
    "quantizedtype": "QuantifiedType",
    "basictype": "BasicType",
    "indexnumbertype": "IndexNumberType",
}
ATTRIBUTE_WORDS = {
    "int": "Int",
    "float": "Float",
    "bool": "Bool",
    "string": "String",
    "str": "String",
    "list_int": "ListInt",
    "list_float": "ListFloat",
    "list_bool": "ListBool",
    "listint": "ListInt",
    "listfloat": "ListFloat",
    "listbool": "ListBool",
    "list_list_int": "ListListInt",
    "listlistint": "ListListInt",
    "list_string": "ListString",
    "type": "Type",
    "dtype": "Type",
}
PRESENCES = ("required", "optional", "dynamic")
KEYS = ("op", "language", "input_desc", "output_desc", "attr")
USUAL_FORMAT = "ND"


def parse_msopgen(text: str, place: Place) -> tuple[tuple[Prototype, ...], tuple[Note, ...]]:
    """Read all definitions of a text.

    Parameters
    ----------
    place
        The file, for messages.

    Returns
    -------
    prototypes, notes
        Formats other than ND are notes: a declaration has none.

    Raises
    ------
    MsOpGenError
        OPW-S004.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise MsOpGenError(
            where=f"{place}:{error.lineno}", got=error.msg, fix="correct the JSON at this line"
        ) from error
    definitions = document if isinstance(document, list) else [document]
    notes: list[Note] = []
    found = [definition(each, place, notes) for each in definitions]
    return tuple(found), tuple(notes)


def definition(given: object, place: Place, notes: list[Note]) -> Prototype:
    """Read one definition."""
    where = str(place)
    if not isinstance(given, dict) or not isinstance(given.get("op"), str):
        raise MsOpGenError(
            where=where, got=shorten(given), fix='write an object with "op": "NameOfTheOperator"'
        )
    op_type = given["op"]
    where = f"{place}, operator {op_type}"
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        raise MsOpGenError(where=where, got=f"key {unknown[0]!r}", allowed=KEYS, near=unknown[0])
    inputs = [
        port(each, where, notes, place, op_type) for each in read_list(given, "input_desc", where)
    ]
    outputs = [
        port(each, where, notes, place, op_type) for each in read_list(given, "output_desc", where)
    ]
    if not outputs:
        raise MsOpGenError(where=where, got="no output_desc", fix="describe the outputs")
    lengths = {len(each.dtypes) for each in (*inputs, *outputs) if len(each.dtypes) > 1}
    if len(lengths) > 1:
        raise MsOpGenError(
            where=where,
            got=f"type lists of {' and '.join(map(str, sorted(lengths)))} elements",
            fix="give every port as many types: those at one index go together",
        )
    return Prototype(
        op_type=op_type,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes=tuple(attribute(each, where) for each in read_list(given, "attr", where)),
        combinations=True,
    )


def read_list(given: Mapping[str, object], key: str, where: str) -> Sequence[dict[str, object]]:
    """Return the descriptions under a key."""
    value = given.get(key) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise MsOpGenError(
            where=f"{where}, {key}", got=shorten(value), fix="write a list of objects"
        )
    return cast("list[dict[str, object]]", value)


def port(
    given: dict[str, object], where: str, notes: list[Note], place: Place, op_type: str
) -> Port:
    """Read an input or output."""
    name = name_of(given, where)
    where = f"{where}, {name}"
    formats = words_of(given, "format", where)
    others = sorted({each for each in formats if each != USUAL_FORMAT})
    if others:
        notes.append(Note(place, op_type, "format is not kept", f"{name}: {' '.join(others)}"))
    types = [
        word_of(each, DTYPE_WORDS, f"{where}, type") for each in words_of(given, "type", where)
    ]
    if len(types) == 1 and len(formats) > 1:  # a single one goes with each of the others
        types *= len(formats)
    return Port(name=name, presence=presence(given, where), dtypes=tuple(types))


def presence(given: dict[str, object], where: str) -> Presence:
    """Read param_type."""
    value = given.get("param_type", "required")
    if value not in PRESENCES:
        raise MsOpGenError(
            where=f"{where}, param_type",
            got=repr(value),
            allowed=PRESENCES,
            near=str(value),
        )
    return cast("Presence", value)


def name_of(given: dict[str, object], where: str) -> str:
    """Read a name."""
    name = given.get("name")
    if not isinstance(name, str) or not name.isidentifier():
        raise MsOpGenError(where=where, got=f"name {name!r}", fix="give it a name")
    return name


def words_of(given: dict[str, object], key: str, where: str) -> list[str]:
    """Read one word or several."""
    value = given.get(key, [])
    words = value if isinstance(value, list) else [value]
    if not all(isinstance(word, str) for word in words):
        raise MsOpGenError(where=f"{where}, {key}", got=shorten(value), fix="write a list of words")
    return cast("list[str]", words)


def word_of(word: str, words: Mapping[str, str], where: str) -> str:
    """Translate a word."""
    found = words.get(word.lower().removeprefix("dt_"))
    if found is None:
        raise MsOpGenError(where=where, got=repr(word), allowed=words, near=word)
    return found


def attribute(given: dict[str, object], where: str) -> Attribute:
    """Read an attribute."""
    name = name_of(given, where)
    where = f"{where}, attribute {name}"
    kind = word_of(str(given.get("type", "")), ATTRIBUTE_WORDS, f"{where}, type")
    required = presence(given, where) == "required"
    ctype = ATTRIBUTE_TYPES.get(kind)
    value = None if required else given.get("default_value")
    return Attribute(
        name=name,
        ctype=ctype,
        required=required,
        default=None if value is None else default(kind, value, where),
        kind="" if ctype else kind,
    )


def default(kind: str, value: object, where: str) -> Default:
    """Read a default; numbers and truth values may be written as texts."""
    if isinstance(value, str) and kind not in {"String", "Type"}:
        try:
            value = json.loads(value.lower())
        except json.JSONDecodeError as error:
            raise MsOpGenError(
                where=f"{where}, default_value",
                got=repr(value),
                fix=f"write a value of type {kind}",
            ) from error
    if kind.startswith("List") and not isinstance(value, list):
        value = [value]
    if isinstance(value, list):
        return cast("Default", tuple(single(kind.removeprefix("List"), v, where) for v in value))
    return cast("Default", single(kind, value, where))


def single(kind: str, value: object, where: str) -> object:
    """Convert one value to the type of an attribute."""
    match kind, value:
        case "Int", bool() | int():
            return int(value)
        case "Float", int() | float():
            return float(value)
        case "Bool", bool() | int():
            return bool(value)
        case "String" | "Type", str():
            return value
        case _, list():
            return tuple(single(kind.removeprefix("List"), each, where) for each in value)
    raise MsOpGenError(
        where=f"{where}, default_value", got=repr(value), fix=f"write a value of type {kind}"
    )


def shorten(value: object, most: int = 60) -> str:
    """Return a value for a message."""
    return clip(json.dumps(value, ensure_ascii=False), most)
