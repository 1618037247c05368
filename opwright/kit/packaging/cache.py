"""The cache for compiled units: files named by the content of all that they are made from.

Lifecycle of a file: look; lock; look again; refuse if making is forbidden; make; publish. A file
appears complete or not at all, whenever its process ends. Beside it is its SHA-256, which every use
compares: a file that a disk or a person changed is made again, and reported. A file that is not
there is made; a folder that cannot be written is an error.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from opwright.lock import hold_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Obtained", "cache_folder", "obtain", "prune"]

# Seconds after which a file that no build used is removed.
LIFETIME = 30 * 24 * 3600
TEMPORARY = ".new"
CHECKED = ".sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obtained:
    """A file of the cache.

    Parameters
    ----------
    from_cache
        Whether it was there, as it was made.
    was_damaged
        Whether it was there, but not as it was made, and had to be made again.
    """

    file: Path
    from_cache: bool
    was_damaged: bool = False


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for compiled units, by the rules for user caches on Linux."""
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "opwright" / "build"


def obtain(
    folder: Path,
    key: str,
    look: Callable[[], Path | None],
    make: Callable[[Path], Path],
) -> Obtained:
    """Return a file of the cache, made if it is not there as it was made.

    Parameters
    ----------
    key
        Names the lock: two processes that need the same file make it once.
    look
        Returns where the file is, if it was ever made.
    make
        Gets the path of a private file to write and returns where it is to be published.
    """
    found = look()
    if found is None or state(found) != "whole":
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / f"{key}.lock"):
            found = look()  # another process may have been first
            before = "missing" if found is None else state(found)
            if found is None or before != "whole":
                private = folder / f"{key}.{os.getpid()}{TEMPORARY}"
                try:
                    place = make(private)
                    publish(private, place)
                finally:
                    private.unlink(missing_ok=True)
                return Obtained(file=place, from_cache=False, was_damaged=before == "damaged")
    for file in (found, find_digest_file(found)):
        mark_used(file)
    return Obtained(file=found, from_cache=True)


def find_digest_file(file: Path) -> Path:
    """Return where a file's SHA-256 is."""
    return file.with_name(f"{file.name}{CHECKED}")


def state(file: Path) -> Literal["whole", "damaged", "missing"]:
    """Compare a file with its SHA-256; without that it is as good as missing."""
    try:
        wanted = find_digest_file(file).read_bytes()
        return "whole" if sha256(file) == wanted else "damaged"
    except FileNotFoundError:
        return "missing"


def sha256(file: Path) -> bytes:
    """Return a file's SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest().encode()


def publish(private: Path, place: Path) -> None:
    """Move a file that was made to its place, and its SHA-256 beside it."""
    new = private.with_name(f"{private.name}{CHECKED}{TEMPORARY}")
    try:
        new.write_bytes(sha256(private))
        # The old one goes first: a process that is killed in between leaves a miss, no damage.
        find_digest_file(place).unlink(missing_ok=True)
        private.replace(place)
        new.replace(find_digest_file(place))
    finally:
        new.unlink(missing_ok=True)


def mark_used(file: Path) -> None:
    """Keep a file from being pruned; in a cache that others own, that is their matter."""
    if os.access(file, os.W_OK):
        os.utime(file)


def prune(folder: Path) -> None:
    """Remove what no build used for long, and what killed processes left.

    In a cache that others own, that is their matter.
    """
    if not os.access(folder, os.W_OK):
        return
    limit = time.time() - LIFETIME
    for file in folder.glob("*"):
        try:
            if file.stat().st_mtime < limit and not file.is_dir():
                file.unlink()
        except FileNotFoundError:
            continue  # another process was faster
