"""The operator types that TorchAir's system tests use, as an installed operator package.

On a machine with CANN their prototypes come from a package below ASCEND_CUSTOM_OPP_PATH. The
tests have them in their stub of GE instead, from where they are read: as REG_OP in `reg_op_stub`,
as a list of names in `GetRegisteredIrDef`. The latter answers every other type with a prototype
that has nothing, so those that the tests name have one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.graph_engine.prototypes.cann import of_torchair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["write_package"]

PRESENCE = {"required": "INPUT", "optional": "OPTIONAL_INPUT", "dynamic": "DYNAMIC_INPUT"}
ATTRIBUTES = {"VT_INT": "Int", "VT_STRING": "String", "VT_NAMED_ATTRS": "NamedAttrs"}


def write_package(checkout: Path, folder: Path) -> None:
    """Write the package of the tests in `checkout` to a folder.

    Raises
    ------
    OSError
        The checkout has no such files.
    """
    header = folder / "op_proto" / "inc" / "op_proto.h"
    header.parent.mkdir(parents=True)
    registered = (checkout / "tests/reg_op_stub/reg_op_stub.cpp").read_text(encoding="utf-8")
    stub = (checkout / "cmake/graph_engine/ge_stub.cpp").read_text(encoding="utf-8")
    whole = re.findall(
        r"^REG_OP\(.*?OP_END_FACTORY_REG\(\w+\);", registered, re.DOTALL | re.MULTILINE
    )
    listed = dict(listed_types(stub))
    named = {name for path in (checkout / "tests/st").glob("*.py") for name in named_types(path)}
    declared = {*re.findall(r"^REG_OP\((\w+)\)", registered, re.MULTILINE), *listed}
    texts = [*whole, *(text for text in listed.values() if text)]
    texts += [prototype(name, []) for name in sorted(named - declared)]
    header.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def listed_types(stub: str) -> Iterator[tuple[str, str]]:
    """Yield the types in `GetRegisteredIrDef`, and the prototype of each; "" if it has none."""
    function = stub[stub.index("GetRegisteredIrDef(") :]
    for name, body in re.findall(r'op_type\) == "(\w+)"\)\s*\{(.*?)\n  \}', function, re.DOTALL):
        yield name, "" if "FAILED" in body else prototype(name, parts_of(body))


def parts_of(body: str) -> list[str]:
    """Return the lines of a prototype."""
    pairs = re.findall(
        r'(\w+)\.emplace_back\(ge::AscendString\("(\w+)"\), ge::AscendString\("(\w+)"\)\)', body
    )
    return [line for kind, name, word in pairs if (line := part_of(kind, name, word))]


def part_of(kind: str, name: str, word: str) -> str | None:
    """Return the line of an input, output or attribute; None if REG_OP has none for the word."""
    if kind == "attrs":
        return f".REQUIRED_ATTR({name}, {ATTRIBUTES[word]})"
    macro = PRESENCE.get(word)
    if macro is None:
        return None
    side = macro if kind == "inputs" else macro.replace("INPUT", "OUTPUT")
    return f".{side}({name}, TensorType::ALL())"


def prototype(name: str, parts: list[str]) -> str:
    """Return a REG_OP."""
    return "\n    ".join([f"REG_OP({name})", *parts, f".OP_END_FACTORY_REG({name});"])


def named_types(path: Path) -> set[str]:
    """Return the types that a test gives to `custom_op`, unless they are CANN's."""
    found = re.findall(
        r"custom_op\([^'\"\n]*\n?\s*['\"](\w+)['\"]", path.read_text(encoding="utf-8")
    )
    return {name for name in found if of_torchair(name) is None}
