"""`__init__.py`, and the modules that are the same in every package."""

from __future__ import annotations

import builtins
from importlib.resources import files
from typing import TYPE_CHECKING

from opwright.kit.emit.header import with_header
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.names import public_names
from opwright.kit.emit.python.text import bracket, docstring, literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["comment_shadowing", "emit_init", "read_shipped"]


def read_shipped(name: str, source: str) -> str:
    """Return a module of `opwright.kit.shipped` with a header."""
    text = files("opwright.kit.shipped").joinpath(f"{name}.py").read_text(encoding="utf-8")
    return with_header(text, source=source, comment="#")


def emit_init(facts: SetFacts, options: EmitOptions, *, converters: bool) -> str:
    """Return the module that users import.

    Parameters
    ----------
    converters
        Whether there are TorchAir converters, which are registered when TorchAir is imported.
    """
    package = options.package
    names = sorted(public_names(facts).values())
    doc = (
        facts.declaration.doc.strip()
        or f"Custom operators for Ascend NPUs: ``torch.ops.{facts.declaration.namespace}``."
    )
    imports = [
        f"from {package}._ops import ops",
        f"from {package}._registration import register",
    ]
    if converters:
        imports.append(f"from {package}._runtime import when_imported")
    if names:
        imports.append(bracket(f"from {package}.api import (", names, ")"))
    if names and "\n" not in imports[-1]:
        imports[-1] = f"from {package}.api import {', '.join(names)}"
    exported = bracket("__all__ = [", [literal(name) for name in sorted([*names, "ops"])], "]")
    body = [
        exported,
        "",
        f"__version__ = {literal(facts.declaration.version)}",
        "",
        "_registrations = register()",
    ]
    groups = [body]
    if converters:
        groups += [
            [
                "def _register_converters() -> None:",
                *docstring("Register the converters with TorchAir.", indent="    "),
                '    importlib.import_module(f"{__name__}.converters")',
            ],
            ['when_imported("torch_npu.dynamo.torchair", _register_converters)'],
        ]
    return module(
        doc,
        *groups,
        source=facts.declaration.source.name,
        imports=[["import importlib"] if converters else [], imports],
        comments=comment_shadowing(names),
    )


def comment_shadowing(names: Iterable[str]) -> list[str]:
    """Return the comment for operators that are called like a function of Python."""
    return ["# ruff: noqa: A004"] if any(name in dir(builtins) for name in names) else []
