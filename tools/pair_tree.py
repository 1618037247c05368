"""Lay the sources of this repository into another folder, for a pair of its own.

    python -m tools.pair_tree build/pairs/torch-2.10.0-python-3.12

The folder gets every file that git tracks, or would track. A file that is there with the same
content stays as it is, so that make and ninja rebuild what changed alone; sources that are gone
here are removed there. What was made there (environment, libraries, results) is left alone.
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
from pathlib import Path

from tools.repository import LIST, ROOT, repository_files


def lay(names: list[str], tree: Path) -> None:
    """Make the sources in the folder equal to these."""
    listed = tree / LIST
    before = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    for name in set(before).difference(names):
        (tree / name).unlink(missing_ok=True)
    for name in names:
        source, target = ROOT / name, tree / name
        if target.is_file() and filecmp.cmp(source, target, shallow=False):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    listed.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tree", type=Path)
    tree = parser.parse_args().tree.absolute()
    tree.mkdir(parents=True, exist_ok=True)
    lay(sorted(repository_files()), tree)


if __name__ == "__main__":
    main()
