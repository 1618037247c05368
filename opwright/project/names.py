"""Which names a project's package can have: for `opwright new`, and for its pyproject.toml."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass

from opwright.kit.declare.reserved import CPP_WORDS, RESERVED_NAMESPACES

__all__ = ["NameFault", "name_fault"]

# ASCII, because it becomes a C++ namespace and part of the wheel's file name.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Top-level modules that a package must not hide: of the project itself, and what it runs with.
TAKEN = frozenset(
    {"operators", "tests", "csrc", "generated", "plugin", "dist", "build"}
    | {"torch", "torch_npu", "torchair", "torchgen", "opwright", "numpy", "pytest", "setuptools"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFault:
    """Why a package cannot have a name; without a fix, what an error of this kind usually says."""

    got: str
    fix: str | None = None


def name_fault(name: str) -> NameFault | None:
    """Return why a package, a namespace of PyTorch and one of C++ cannot have a name.

    >>> name_fault("my_ops"), name_fault("torch").got
    (None, "'torch', a module that the project needs")
    """
    if not NAME.fullmatch(name):
        return NameFault(got=repr(name))
    reasons = {
        "a word of Python": keyword.iskeyword(name) or keyword.issoftkeyword(name),
        "a word of C++": name in CPP_WORDS,
        "a module of Python itself": name in sys.stdlib_module_names,
        "a namespace of PyTorch or torch_npu": name in RESERVED_NAMESPACES,
        "a module that the project needs": name in TAKEN,
    }
    for reason, holds in reasons.items():
        if holds:
            return NameFault(got=f"{name!r}, {reason}", fix=f"choose another, such as {name}_ops")
    return None
