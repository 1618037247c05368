"""op-plugin's YAML -> facts: op_plugin_functions.yaml and derivatives.yaml."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from opwright.lint.definitions import (
    Definition,
    Derivative,
    FileFacts,
    Implementation,
    Kernel,
    Language,
    Place,
    Site,
)
from opwright.lint.schema import SchemaProblem, read_schema
from opwright.lint.suppressions import read_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_relevant", "read_yaml"]

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SECTIONS = {
    "custom": "npu",
    "quant": "aten",
    "autograd": "npu",
    "symint": "npu",
    "official": "aten",
}
BACKENDS = ("op_api", "acl_op", "sparse")
NO_INPUTS = frozenset({"name", "version", "output_differentiability", "dispatch"})
NEWEST = "newest"
EVERY = "all_version"


def is_relevant(data: bytes) -> bool:
    """Return whether a file is one of op-plugin's."""
    return b"\n  - func:" in data or (b"\nbackward:" in data and b"- name:" in data)


def read_yaml(path: str, data: bytes) -> FileFacts:
    """Read a file; one that is no YAML says only that."""
    suppressions = read_suppressions(path, data, (b"#",))
    try:
        root = yaml.compose(data, Loader=Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        # libyaml says that a text which ends too early fails in the line behind it.
        last = len(data.splitlines()) or 1
        place = Place(path, 1 if mark is None else min(mark.line + 1, last))
        problem = Site(place, f"no YAML: {getattr(error, 'problem', None) or error}"[:120])
        return FileFacts(path=path, problems=(problem,), suppressions=suppressions)
    definitions: list[Definition] = []
    implementations: list[Implementation] = []
    derivatives = tuple(read_derivatives(path, root))
    newest = newest_version(root)
    for section, entry in entries(root):
        func = value_of(entry, "func")
        if func is None:
            continue
        definition = define(path, section, func)
        definitions.append(definition)
        if not any(is_current(value_of(entry, each), newest) for each in BACKENDS):
            continue  # of older versions of torch only
        function = definition.qualified.replace(".", "_")
        is_generated = value_of(entry, "gen_opapi") is not None
        implementations += [
            Implementation(
                namespace=definition.namespace,
                name=definition.qualified,
                key=key,
                kernel=Kernel(name=None if is_generated else function, is_certain=False),
                place=definition.place,
                language=Language.YAML,
            )
            for key in dispatch_keys(value_of(entry, "dispatch"))
        ]
    return FileFacts(
        path=path,
        definitions=tuple(definitions),
        implementations=tuple(implementations),
        suppressions=suppressions,
        derivatives=derivatives,
    )


def read_derivatives(path: str, root: yaml.Node | None) -> Iterator[Derivative]:
    """Yield the entries of derivatives.yaml whose schemas are readable."""
    backward = value_of(root, "backward") if isinstance(root, yaml.MappingNode) else None
    if not isinstance(backward, yaml.SequenceNode):
        return
    for entry in backward.value:
        name = value_of(entry, "name") if isinstance(entry, yaml.MappingNode) else None
        if name is None:
            continue
        with suppress(SchemaProblem):
            schema = read_schema(" ".join(str(name.value).split()))
            overload = f".{schema.overload}" if schema.overload else ""
            yield Derivative(
                name=schema.name + overload,
                schema=schema,
                inputs=tuple(
                    part.strip()
                    for key, _ in entry.value
                    if key.value not in NO_INPUTS
                    for part in str(key.value).split(",")
                ),
                place=Place(path, name.start_mark.line + 1, name.start_mark.column + 1),
            )


def entries(root: yaml.Node | None) -> Iterator[tuple[str, yaml.MappingNode]]:
    """Yield the entries of all sections."""
    if not isinstance(root, yaml.MappingNode):
        return
    for key, value in root.value:
        if key.value in SECTIONS and isinstance(value, yaml.SequenceNode):
            for each in value.value:
                if isinstance(each, yaml.MappingNode):
                    yield key.value, each


def newest_version(root: yaml.Node | None) -> str:
    """Return the last version that the file knows."""
    if isinstance(root, yaml.MappingNode):
        versions = value_of(root, EVERY)
        if isinstance(versions, yaml.SequenceNode) and versions.value:
            return str(versions.value[-1].value)
    return NEWEST


def is_current(versions: yaml.Node | None, newest: str) -> bool:
    """Return whether versions, one or a range, hold the newest one."""
    if isinstance(versions, yaml.SequenceNode):
        return bool(versions.value) and versions.value[-1].value in {NEWEST, newest}
    return versions is not None and versions.value in {EVERY, NEWEST, newest}


def dispatch_keys(dispatch: yaml.Node | None) -> list[str]:
    """Return the keys that an entry names, else that of NPUs."""
    if not isinstance(dispatch, yaml.MappingNode):
        return ["PrivateUse1"]
    return [key.strip() for each, _ in dispatch.value for key in str(each.value).split(",")]


def value_of(entry: yaml.MappingNode, name: str) -> yaml.Node | None:
    """Return a value of an entry."""
    return next((value for key, value in entry.value if key.value == name), None)


def define(path: str, section: str, func: yaml.Node) -> Definition:
    """Return the definition of an entry."""
    plain = " ".join(str(func.value).split())
    schema, problem = None, None
    try:
        schema = read_schema(plain)
    except SchemaProblem as error:
        problem = str(error)
    name, _, overload = plain.partition("(")[0].strip().partition(".")
    namespace = SECTIONS[section]
    if section == "symint" and not name.startswith(("npu_", "_npu_")):
        namespace = "aten"
    return Definition(
        namespace=namespace,
        name=name,
        overload=overload,
        text=plain,
        schema=schema,
        problem=problem,
        place=Place(path, func.start_mark.line + 1, func.start_mark.column + 1),
        language=Language.YAML,
        is_inferred=False,
    )
