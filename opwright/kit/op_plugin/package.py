"""The Python files of the package, and what its metadata say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from opwright.errors import first_of
from opwright.kit.emit.header import with_header
from opwright.kit.emit.python.package import read_shipped
from opwright.kit.op_plugin.entries import NAMESPACE
from opwright.kit.packaging.wheel import Metadata
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.op_plugin.entries import Entries
    from opwright.kit.op_plugin.python_files import Module

__all__ = ["library_name", "metadata_of", "package_files"]

MOST_NAMED = 5  # operators in the summary

INIT = '''"""{doc}"""

from __future__ import annotations

from {name}._extension import load

__all__: list[str] = []

__version__ = "{version}"

load(__name__, __path__[0])
'''


def package_files(
    name: str, version: str, entries: Entries, modules: Sequence[Module], source: str
) -> dict[str, bytes]:
    """Return the Python files of the package and its metadata.

    Parameters
    ----------
    source
        The name of the YAML file.
    """
    metadata = {
        "name": name,
        "version": version,
        "namespace": NAMESPACE,
        "library": library_name(name),
        "built_for": installed_minor(),
        "stable_abi": False,
        "operators": [entry.facts.name for entry in entries.entries],
        "schemas": [str(entry.schema) for entry in entries.entries],
        "mutating": [entry.facts.name for entry in entries.entries if entry.schema.mutated],
        "modules": [module.name for module in modules if not module.waits],
        "converters": [module.name for module in modules if module.waits],
    }
    init = INIT.format(name=name, version=version, doc=f"{summary(entries)}.")
    texts = {
        "__init__.py": with_header(init, source=source, comment="#"),
        "_extension.py": read_shipped("op_plugin", source),
        "_internals.py": read_shipped("_internals", source),
        "_loading.py": read_shipped("loading", source),
        "_runtime.py": read_shipped("runtime", source),
        "metadata.json": json.dumps(metadata, indent=2, ensure_ascii=False) + "\n",
        **{f"{module.name}.py": module.text for module in modules},
    }
    if metadata["mutating"]:
        texts["_graphs.py"] = read_shipped("graphs", source)
    return {f"{name}/{path}": text.encode() for path, text in texts.items()}


def library_name(package: str) -> str:
    """Return the file name of the library."""
    return f"lib{package}.so"


def metadata_of(name: str, version: str, entries: Entries) -> Metadata:
    """Return what pip reads."""
    return Metadata(
        name=name,
        version=version,
        fields=(
            ("Summary", summary(entries)),
            ("Requires-Python", ">=3.10"),
            *(
                ("Requires-Dist", f"{each}=={installed_minor()}.*")
                for each in ("torch", "torch_npu")
            ),
        ),
    )


def summary(entries: Entries) -> str:
    """Return what the package is, in a line."""
    names = [f"{NAMESPACE}::{entry.facts.name}" for entry in entries.entries]
    return f"Operators for torch_npu: {', '.join(first_of(names, MOST_NAMED))}"
