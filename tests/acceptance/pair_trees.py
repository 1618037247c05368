"""Trees of other pairs in build/pairs, for the tests that need a second one."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["ROOT", "environment_outside", "newest_tree"]

ROOT = Path(__file__).parents[2]
TREE = re.compile(r"torch-(\d+)\.(\d+)\.(\d+)-python-\d\.\d+")
# Variables of the twin of the default pair, by their beginnings.
TWIN_VARIABLES = ("ASCEND", "OPWRIGHT", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH")


def newest_tree(suffix: str = "") -> Path | None:
    """Return the tree of the newest torch whose packages are installed, if there is one.

    Parameters
    ----------
    suffix
        The end of the tree's name: "-aarch64" for that processor.
    """
    trees = [tree.parents[2] for tree in (ROOT / "build" / "pairs").glob("*/.venv/stamps/python")]
    named = {
        match: tree
        for tree in trees
        if tree.name.endswith(suffix) and (match := TREE.fullmatch(tree.name.removesuffix(suffix)))
    }
    newest = max(named, key=lambda match: [int(part) for part in match.groups()], default=None)
    return named[newest] if newest else None


def environment_outside() -> dict[str, str]:
    """Return the variables of a shell that knows nothing of make and of the default pair."""
    return {name: text for name, text in os.environ.items() if not name.startswith(TWIN_VARIABLES)}
