"""`pyproject.toml` and `metadata.json` of the generated tree."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from opwright.kit.emit.cpp.stable import SINCE
from opwright.kit.emit.header import FORMAT, with_header
from opwright.kit.emit.python.names import public_names
from opwright.kit.emit.python.text import lines, literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["emit_metadata", "emit_pyproject", "library_name", "requirement"]


def library_name(options: EmitOptions) -> str:
    """Return the file name of the C++ library in the package."""
    return f"lib{options.package}.so"


def requirement(package: str, given: str | None, options: EmitOptions) -> str:
    """Return the requirement of torch or torch_npu: the author's range, or that of the build.

    C++ of torch is compatible within a minor version; the stable ABI is compatible with later ones.
    """
    major, minor = options.torch.split(".")
    default = f">={SINCE}" if options.stable_abi else f">={options.torch},<{major}.{int(minor) + 1}"
    return package + (given or default).replace(" ", "")


def emit_pyproject(facts: SetFacts, options: EmitOptions) -> str:
    """Return the build configuration of the package."""
    declaration = facts.declaration
    requirements = [
        requirement("torch", declaration.torch, options),
        requirement("torch_npu", declaration.torch_npu, options),
    ]
    if options.stable_abi:
        requirements = requirements[:1]
    description = declaration.doc.strip().partition("\n")[0] or (
        f"Custom operators for Ascend NPUs: torch.ops.{declaration.namespace}"
    )
    body = lines(
        "[build-system]",
        'requires = ["setuptools>=77", "wheel"]',
        'build-backend = "setuptools.build_meta"',
        "",
        "[project]",
        f"name = {literal(options.package)}",
        f"version = {literal(declaration.version)}",
        f"description = {toml(description)}",
        'requires-python = ">=3.10"',
        "dependencies = [",
        [f"  {literal(each)}," for each in requirements],
        "]",
        "",
        "[tool.setuptools]",
        f"packages = [{literal(options.package)}]",
        "",
        "[tool.setuptools.package-data]",
        f'{options.package} = ["*.so", "*.pyi", "py.typed", "metadata.json", "op_proto.h"]',
        "",
        "[tool.ruff]",
        "line-length = 100",
        f'extend-exclude = ["{options.package}/_reference.py"]  # as the author wrote it',
        "",
        "[tool.pytest.ini_options]",
        'testpaths = ["tests"]',
        'pythonpath = ["tests"]',
    )
    return with_header(body, source=declaration.source.name, comment="#")


def toml(text: str) -> str:
    """Return a string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def emit_metadata(facts: SetFacts, options: EmitOptions, files: Mapping[str, str]) -> str:
    """Return what the package says about itself.

    Parameters
    ----------
    files
        All other emitted files.
    """
    declaration = facts.declaration
    names = public_names(facts)
    content = {
        "name": options.package,
        "version": declaration.version,
        "namespace": declaration.namespace,
        "library": library_name(options),
        "built_for": SINCE if options.stable_abi else options.torch,
        "stable_abi": options.stable_abi,
        "requires": {
            "torch": requirement("", declaration.torch, options),
            "torch_npu": requirement("", declaration.torch_npu, options),
        },
        "format": FORMAT,
        "declaration": {
            "file": declaration.source.name,
            "sha256": sha256(declaration.source.text),
        },
        "operators": [
            {
                "schema": f"{declaration.namespace}::{operator.schema}",
                "role": operator.role,
                **({"function": names[operator.name]} if operator.role == "declared" else {}),
                **({"aclnn": operator.call.function} if operator.call else {}),
            }
            for operator in facts.operators
        ],
        "files": {path: sha256(text) for path, text in sorted(files.items())},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
