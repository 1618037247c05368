"""op-plugin's YAML -> facts: op_plugin_functions.yaml and derivatives.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from opwright.lint.facts import (
    Definition,
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
SECTIONS = {"custom": "npu", "quant": "npu", "autograd": "npu", "symint": "npu", "official": "aten"}
BACKENDS = ("op_api", "acl_op", "sparse", "gen_opapi")


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
        place = Place(path, 1 if mark is None else mark.line + 1)
        problem = Site(place, f"no YAML: {getattr(error, 'problem', None) or error}"[:120])
        return FileFacts(path=path, problems=(problem,), suppressions=suppressions)
    definitions: list[Definition] = []
    implementations: list[Implementation] = []
    for section, entry in entries(root):
        func = value_of(entry, "func")
        if func is None:
            continue
        definition = define(path, section, func)
        definitions.append(definition)
        present = [each for each in BACKENDS if value_of(entry, each) is not None]
        if present:
            function = None
            if "gen_opapi" not in present:
                function = definition.qualified.replace(".", "_")
            implementations.append(
                Implementation(
                    namespace=definition.namespace,
                    name=definition.qualified,
                    key="PrivateUse1",
                    kernel=Kernel(name=function, is_certain=False),
                    place=definition.place,
                    language=Language.YAML,
                )
            )
    return FileFacts(
        path=path,
        definitions=tuple(definitions),
        implementations=tuple(implementations),
        suppressions=suppressions,
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
