"""YAML: texts -> plain values with line numbers, and plain values -> texts.

PyYAML reads; writing is done here, as op-plugin writes its files: one entry per operator, long
texts on one line, quotes only where YAML needs them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from opwright.kit.formats.errors import YamlError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LOADER", "Located", "Value", "block", "flow", "load_document", "read_value"]

Value: TypeAlias = "str | bool | int | float | tuple[Value, ...] | Mapping[str, Value] | None"

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # with libyaml, ten times as fast
SCALARS = yaml.SafeLoader("")
TEXT_TAG = "tag:yaml.org,2002:str"
VALUES = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
TAGS = VALUES | {f"tag:yaml.org,2002:{name}" for name in ("timestamp", "value", "merge", "binary")}
# Of one file, aliases resolved; op-plugin's own has 8,000 values in four levels.
MOST_NODES = 1_000_000
MOST_DEPTH = 50
# Text that needs no quotes in any place.
PLAIN = re.compile(r"[A-Za-z_][\w.<>/+-]*(?: [\w.<>/+-]+)*")
# Text that needs none as the value of a key in block style.
PLAIN_LINE = re.compile(r'[A-Za-z_(][ -"$-~]*[!"$-9;-~]|[A-Za-z_]')
# Characters that YAML does not take as they are, or takes for the end of a line.
UNPRINTABLE = re.compile(r"[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


@dataclass(frozen=True, slots=True)
class Located:
    """A value and the line, counted from one, where it begins."""

    value: Value
    line: int


def load_document(text: str, *, where: str) -> dict[str, tuple[Located, ...] | Located]:
    """Read a mapping at the top of a document.

    A list at the top is the entries that op-plugin's guide puts below `custom:`.

    Returns
    -------
    document
        By key: the elements of a list, each with its line, or what else the value is.

    Raises
    ------
    YamlError
        OPW-S001.
    """
    try:
        check_depth(text, where=where)
        root = LOADER(text).get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise YamlError(where=f"{where}{line}", got=str(problem)) from error
    check_size(root, where=where)
    if isinstance(root, yaml.SequenceNode):
        return {"custom": entries(root, where=where)}
    if not isinstance(root, yaml.MappingNode):
        raise YamlError(
            where=where,
            got="no mapping at the top",
            fix="write sections: all_version, official, custom, ...",
        )
    return dict(sections(root, where=where))


def check_depth(text: str, *, where: str) -> None:
    """Raise if values are nested so deeply that reading them would exhaust the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MOST_DEPTH:
            raise report_missing_end(event.start_mark, where=where)


def check_size(root: yaml.Node | None, *, where: str) -> None:
    """Raise if aliases make a document endless or huge, or if a key is no text.

    Raises
    ------
    YamlError
        OPW-S001.
    """
    pending = [(root, 0)] if root is not None else []
    seen = 0
    while pending:
        node, depth = pending.pop()
        seen += 1
        if seen > MOST_NODES or depth > MOST_DEPTH:
            raise report_missing_end(node.start_mark, where=where)
        if isinstance(node, yaml.SequenceNode):
            pending += [(item, depth + 1) for item in node.value]
        elif isinstance(node, yaml.MappingNode):
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    line = key.start_mark.line + 1
                    raise YamlError(where=f"{where}:{line}", got="a key that is no text")
            pending += [(item, depth + 1) for _, item in node.value]


def report_missing_end(mark: yaml.Mark, *, where: str) -> YamlError:
    """Return the error for too many values."""
    return YamlError(
        where=f"{where}:{mark.line + 1}",
        got="values in values, or aliases, without end",
        allowed=[f"{MOST_DEPTH} levels", f"{MOST_NODES} values"],
        fix="write them without aliases",
    )


def sections(
    root: yaml.MappingNode, *, where: str
) -> Iterator[tuple[str, tuple[Located, ...] | Located]]:
    """Return the sections of a document."""
    seen: set[str] = set()
    for key_node, node in root.value:
        key = str(key_node.value)
        line = key_node.start_mark.line + 1
        if key in seen:
            raise YamlError(
                where=f"{where}:{line}", got=f"a second {key!r}", fix="write each key once"
            )
        seen.add(key)
        # Lists in one line are values; those in block style are entries.
        if isinstance(node, yaml.SequenceNode) and not node.flow_style:
            yield key, entries(node, where=where)
        else:
            yield key, Located(value_of(node, where=where), line)


def entries(node: yaml.SequenceNode, *, where: str) -> tuple[Located, ...]:
    """Return the elements of a list."""
    return tuple(
        Located(value_of(item, where=where), item.start_mark.line + 1) for item in node.value
    )


def value_of(node: yaml.Node, *, where: str) -> Value:
    """Turn a node into a plain value."""
    if isinstance(node, yaml.ScalarNode):
        if node.tag == TEXT_TAG:
            return str(node.value)
        return scalar(node, where=where)
    if isinstance(node, yaml.SequenceNode):
        return tuple(value_of(item, where=where) for item in node.value)
    found: dict[str, Value] = {}
    for key_node, item in node.value:
        key = str(key_node.value)
        if key in found:
            raise YamlError(
                where=f"{where}:{key_node.start_mark.line + 1}",
                got=f"a second {key!r}",
                fix="write each key once",
            )
        found[key] = value_of(item, where=where)
    return found


def scalar(node: yaml.ScalarNode, *, where: str) -> Value:
    """Return the value of a scalar that is no text; dates and the like are texts here."""
    if node.tag not in TAGS:
        raise YamlError(
            where=f"{where}:{node.start_mark.line + 1}", got=f"tag {node.tag}", fix="leave it out"
        )
    if node.tag not in VALUES:
        return str(node.value)
    try:
        value: bool | int | float | None = SCALARS.construct_object(node)
    except (ValueError, LookupError) as error:  # what PyYAML's constructors let through
        raise YamlError(
            where=f"{where}:{node.start_mark.line + 1}",
            got=f"{node.value[:80]!r} with tag {node.tag.rpartition(':')[2]}",
            fix="put it in quotes",
        ) from error
    return value


@functools.lru_cache(maxsize=4096)
def read_value(text: str) -> Value:
    """Read a text that `flow` wrote."""
    if PLAIN.fullmatch(text) and text.lower() not in WORDS:
        return text
    return value_of(LOADER(text).get_single_node(), where="")


def flow(value: Value) -> str:
    """Write a value on one line.

    Examples
    --------
    >>> flow({"a": ("v2.1", "newest"), "b": True, "c": "x: y"})
    '{a: [v2.1, newest], b: true, c: "x: y"}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return value if is_plain(value, PLAIN) else quote_double(value)
    if isinstance(value, float):
        return float_text(value)
    return json.dumps(value)


def quote_double(value: str) -> str:
    """Write a text in quotes."""
    text = json.dumps(value, ensure_ascii=False)
    return UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def float_text(value: float) -> str:
    """Write a number so that YAML 1.1 reads a number: with a point and a signed exponent."""
    text = repr(value)
    if text in {"inf", "-inf", "nan"}:
        return text.replace("inf", ".inf").replace("nan", ".nan")
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{e}{exponent}"


def is_plain(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a text is read as this text without quotes."""
    return bool(pattern.fullmatch(text)) and text.lower() not in WORDS


def block(value: Mapping[str, Value], indent: int) -> Iterator[str]:
    """Write a mapping in lines, each mapping in it as well; lists stand in one line."""
    blanks = " " * indent
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield f"{blanks}{write_on_line(key)}:"
            yield from block(item, indent + 2)
        else:
            yield f"{blanks}{write_on_line(key)}: {write_on_line(item)}"


def write_on_line(value: Value) -> str:
    """Write a key or value that has its line for itself."""
    if isinstance(value, str) and is_plain(value, PLAIN_LINE) and ": " not in value:
        return value
    return flow(value)
