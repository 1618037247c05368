"""The cache for compiled units: files named by the content of all that they are made from.

Lifecycle of a file: look; lock; look again; refuse if making is forbidden; make; publish. A file
appears complete or not at all, whenever its process ends. What cannot be found is made; a folder
that cannot be written is an error.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.lock import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["cache_folder", "digest", "obtain", "prune"]

# Seconds after which a file that no build used is removed.
LIFETIME = 30 * 24 * 3600
TEMPORARY = ".new"


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for compiled units, by the rules for user caches on Linux."""
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "opwright" / "build"


def digest(*parts: str | bytes) -> str:
    """Return a hash of several parts, of which none can be mistaken for its neighbour's end."""
    result = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        result.update(len(data).to_bytes(8, "little") + data)
    return result.hexdigest()[:32]


def obtain(
    folder: Path,
    key: str,
    look: Callable[[], Path | None],
    make: Callable[[Path], Path],
) -> tuple[Path, bool]:
    """Return a file of the cache, made if it is not there, and whether it was there.

    Parameters
    ----------
    key
        Names the lock: two processes that need the same file make it once.
    look
        Returns the file if it is there.
    make
        Gets the path of a private file to write and returns where it is to be published.
    """
    found = look()
    if found is None:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f"{key}.lock"):
            found = look()  # another process may have been first
            if found is None:
                private = folder / f"{key}.{os.getpid()}{TEMPORARY}"
                try:
                    place = make(private)
                    private.replace(place)
                finally:
                    private.unlink(missing_ok=True)
                return place, False
    mark_used(found)
    return found, True


def mark_used(file: Path) -> None:
    """Keep a file from being pruned; in a cache that others own, that is their matter."""
    if os.access(file, os.W_OK):
        os.utime(file)


def prune(folder: Path) -> None:
    """Remove what no build used for long, and what killed processes left."""
    limit = time.time() - LIFETIME
    for file in folder.glob("*"):
        try:
            if file.stat().st_mtime < limit:
                file.unlink()
        except FileNotFoundError:
            continue  # another process was faster
