"""Which torch, torch_npu and Python belong together, and which torch is installed.

A wheel of torch_npu is for one minor version of torch. `pairs.json` has the pairs that opwright
runs. tools/preflight.py imports this module before anything is installed, with whatever Python the
machine has: it uses nothing that Python 3.8 lacks, such as slots of dataclasses.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

__all__ = [
    "Pair",
    "built_for",
    "find_installed",
    "find_mismatched_torch",
    "installed_minor",
    "minor_of",
    "read_pairs",
]


@dataclass(frozen=True)
class Pair:
    """A release of torch, the torch_npu beside it, and the versions of Python with wheels."""

    torch: str
    torch_npu: str
    pythons: tuple[str, ...]


def read_pairs() -> tuple[Pair, ...]:
    """Return the pairs, the oldest first."""
    table = json.loads(Path(__file__).with_name("pairs.json").read_text(encoding="utf-8"))
    return tuple(
        Pair(torch, entry["torch_npu"], tuple(entry["python"])) for torch, entry in table.items()
    )


def minor_of(release: str) -> str:
    """Return major and minor version of a release.

    >>> minor_of("2.13.0+cpu")
    '2.13'
    """
    return ".".join(release.split(".")[:2])


def built_for() -> str | None:
    """Return the minor version of torch whose interface the native libraries follow.

    The build enters it as a requirement of the package (native/cmake/installed_torch.py). None
    where opwright is not installed, but runs from its sources.
    """
    try:
        wanted = requires("opwright") or ()
    except PackageNotFoundError:
        return None
    torch = next((each for each in wanted if each.startswith("torch==")), None)
    return torch and torch.removeprefix("torch==").removesuffix(".*")


def find_mismatched_torch() -> tuple[str, str] | None:
    """Return the minor version that opwright is built for and another one that is installed."""
    wanted, found = built_for(), find_installed("torch")
    if wanted is None or found is None or minor_of(found) == wanted:
        return None
    return wanted, found


def find_installed(package: str) -> str | None:
    """Return the installed version of a package; None without it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def installed_minor() -> str:
    """Return the minor version of the installed torch; without one, the newest that is known."""
    return minor_of(find_installed("torch") or read_pairs()[-1].torch)
