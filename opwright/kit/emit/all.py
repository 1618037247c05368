"""All files of the generated tree: facts and options -> {path: text}. Pure and deterministic.

A new file has its entry in the package of its language, `cpp` or `python`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.emit.cpp import emit_cpp
from opwright.kit.emit.python import emit_python
from opwright.kit.emit.python.pyproject import emit_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["emit_all"]


def emit_all(facts: SetFacts, options: EmitOptions) -> Mapping[str, str]:
    """Return the generated tree, which builds and runs without opwright.

    Raises
    ------
    OpwrightError
        OPW-E001 and following: what cannot be emitted.
    """
    files = {**emit_cpp(facts, options), **emit_python(facts, options)}
    metadata = f"{options.package}/metadata.json"
    return dict(sorted({**files, metadata: emit_metadata(facts, options, files)}.items()))
