"""The keys of op-plugin's YAML, each with its line.

Source: op-plugin 517f2e7, op_plugin/config/README.md and the entries of op_plugin_functions.yaml.
`impl_ns` is what op_api and acl_op were before 2024.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from opwright.kit.formats.op_plugin import SECTIONS
from opwright.kit.formats.yaml_text import LOADER
from opwright.kit.op_plugin.errors import UnknownKeyError, UnknownKeysError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["check_keys"]

ENTRY = (
    *("func", "op_api", "acl_op", "gen_opapi", "exposed", "internal_format_opapi", "device_check"),
    *("tags", "dispatch", "sparse", "dvm", "structured", "structured_delegate", "impl_ns"),
    "use_const_ref_for_mutable_tensors",
)
GEN = ("new_params", "exec", "structured_inherit")
GEN_SPECIAL = ("cpu_scalar_h2d", "cpu_scalar_op", "integral_identity_tensor")
# Of entries, what takes more than a kernel for dense tensors on the NPU.
ENTRY_SPECIAL = (
    *("sparse", "structured", "structured_delegate"),
    "use_const_ref_for_mutable_tensors",
)
OUTPUT = ("size", "dtype", "name")


def check_keys(text: str, *, where: str) -> None:
    """Raise if the YAML of functions has a key that op-plugin does not know.

    A text that is not YAML, or has no entries, is the reader's matter.

    Raises
    ------
    UnknownKeysError
        OPW-O003, with OPW-O002 for each of them.
    """
    root = yaml.compose(text, Loader=LOADER)
    errors = list(find_unknown(root, where=where))
    if errors:
        raise UnknownKeysError(where=where, errors=errors)


def find_unknown(root: yaml.Node | None, *, where: str) -> Iterator[UnknownKeyError]:
    """Yield an error for each unknown key."""
    if isinstance(root, yaml.SequenceNode):  # the entries alone, as they go below `custom:`
        sections = [root]
    elif isinstance(root, yaml.MappingNode):
        yield from find_unknown_in(root, ("all_version", *SECTIONS), "the file", where=where)
        sections = [node for key, node in root.value if key.value != "all_version"]
    else:
        return
    for section in sections:
        if isinstance(section, yaml.SequenceNode):
            for entry in section.value:
                yield from find_unknown_in_entry(entry, where=where)


def find_unknown_in_entry(entry: yaml.Node, *, where: str) -> Iterator[UnknownKeyError]:
    """Yield an error for each unknown key of an entry."""
    if not isinstance(entry, yaml.MappingNode):
        return
    values = {key.value: node for key, node in entry.value}
    name = str(getattr(values.get("func"), "value", "an entry")).partition("(")[0]
    yield from find_unknown_in(entry, ENTRY, f"operator {name}", where=where)
    gen = values.get("gen_opapi")
    if not isinstance(gen, yaml.MappingNode):
        return
    for key, node in gen.value:
        if key.value in {*GEN, *GEN_SPECIAL}:
            continue
        if isinstance(node, yaml.MappingNode):  # an output; its name is free
            what = f"operator {name}, gen_opapi, {key.value}"
            yield from find_unknown_in(node, OUTPUT, what, where=where)
        else:
            yield error(key, (*GEN, "out"), f"operator {name}, gen_opapi", where=where)


def find_unknown_in(
    node: yaml.MappingNode, allowed: Sequence[str], what: str, *, where: str
) -> Iterator[UnknownKeyError]:
    """Yield an error for each key of a mapping that is not allowed."""
    for key, _ in node.value:
        if key.value not in allowed:
            yield error(key, allowed, what, where=where)


def error(
    key: yaml.ScalarNode, allowed: Sequence[str], what: str, *, where: str
) -> UnknownKeyError:
    """Return the error for a key."""
    line = key.start_mark.line + 1
    name = str(key.value)
    return UnknownKeyError(
        where=f"{where}:{line}, {what}", got=repr(name), allowed=allowed, near=name
    )
