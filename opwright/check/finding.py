"""A finding: one fault that a row found, as data for reports, the ledger and scripts.

An outcome has as many of them as the row found in its cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.kit.declare.sample import Sample

__all__ = ["Finding", "Kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault, which a ledger names as row/name and a row's page explains.

    Parameters
    ----------
    name
        Lower-case words joined by hyphens, unique within the row: `undeclared-write`.
    title
        What is wrong, in general.
    fix
        What usually mends it.
    """

    name: str
    title: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault.

    Parameters
    ----------
    expected, got
        What should be, and what is.
    place
        The line of the declaration or of the source that is at fault.
    sample
        The smallest arguments found that show it; None if no call is needed.
    fix
        What mends it in this case.
    script
        Lines of Python that show the fault alone, after `torch`, `torch_npu`, the operators,
        `operator` (the overload) and, for a sample, `arguments(device)` (fresh ones by name) are
        there. The last line raises AssertionError as long as the fault is there. They call the
        operator as `operator(**values)`, so that they work without opwright.
    trace
        A traceback, if there was an exception.
    """

    kind: Kind
    expected: str
    got: str
    place: str
    fix: str
    sample: Sample | None = None
    script: tuple[str, ...] = ()
    trace: str = ""
