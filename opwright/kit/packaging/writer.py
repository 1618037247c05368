"""Writes emitted files into a folder. The only place that does.

Rules: a file is written only where its content differs, as a private file that is then renamed, so
a reader and a killed process see the old or the new file. The manifest lists the folder's files
with their digests; what it no longer lists is removed, nothing else is. What a person edited or
made is never overwritten. Nothing outside the folder is touched, whatever a manifest lists and
wherever a symbolic link leads. A lock keeps two processes from writing at the same time.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.emit.header import is_edited
from opwright.kit.packaging.errors import EditedFilesError, WriteError
from opwright.kit.packaging.inside import check_inside, is_inside, refuse_link
from opwright.lock import hold_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["MANIFEST", "Changes", "compare_tree", "write_tree"]

MANIFEST = "manifest.json"
LOCK = ".lock"
# The end of the name of a file that a killed process may leave behind.
TEMPORARY = ".opwright-new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The files that were written, or would be: paths relative to the folder, sorted."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The digests that each file of ours may have.

    A file has two of them while it is being replaced: whichever a killed process left is ours.
    """

    digests: Mapping[str, tuple[str, ...]]

    def has(self, path: str, content: bytes) -> bool:
        """Return whether this is content that was written by us."""
        return digest_of(content) in self.digests.get(path, ())


def write_tree(folder: Path, files: Mapping[str, str]) -> Changes:
    """Make a folder contain these files.

    Parameters
    ----------
    files
        Texts by path, relative to the folder, with `/`. Line ends become a newline, and a text
        that is not empty ends with one.

    Raises
    ------
    EditedFilesError
        OPW-B001: nothing was written; the error names all files.
    LeavesFolderError
        OPW-B023: the folder or one in it is a symbolic link, or its manifest lists what is outside.
    WriteError
        OPW-B002.
    """
    contents = as_bytes(files)
    with write_errors(folder):
        refuse_link(folder)
        refuse_link(folder / LOCK)
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / LOCK):
            manifest = read_manifest(folder)
            changes = difference(folder, contents, manifest)
            apply(folder, contents, changes, manifest)
            return changes


def compare_tree(folder: Path, files: Mapping[str, str]) -> Changes:
    """Return what `write_tree` would do.

    Raises
    ------
    EditedFilesError, LeavesFolderError, WriteError
        As `write_tree`.
    """
    contents = as_bytes(files)
    with write_errors(folder):
        refuse_link(folder)
        return difference(folder, contents, read_manifest(folder))


@contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Raise WriteError for what the system refuses."""
    try:
        yield
    except OSError as error:
        raise WriteError(where=str(error.filename or folder), got=str(error.strerror)) from error


def as_bytes(files: Mapping[str, str]) -> dict[str, bytes]:
    """Normalise line ends; check that all paths stay inside."""
    contents = {}
    for path, text in sorted(files.items()):
        assert is_inside(path), path
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        if plain and not plain.endswith("\n"):
            plain += "\n"
        contents[path] = plain.encode()
    return contents


def digest_of(content: bytes) -> str:
    """Return the digest that the manifest has."""
    return hashlib.sha256(content).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest; one that is missing or unreadable lists nothing."""
    content = read(folder / MANIFEST)
    try:
        given = json.loads(content or b"{}")
        sections = [given.get("files", {}), given.get("replaced", {})]
        paths = sorted({path for section in sections for path in section})
        return Manifest(
            digests={
                path: tuple(section[path] for section in sections if path in section)
                for path in paths
            }
        )
    except (ValueError, AttributeError, TypeError):
        # A person's file of this name. It is reported as such: nothing lists it.
        return Manifest(digests={})


def read(path: Path) -> bytes | None:
    """Return a file's content; None if it is not there."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def refuse_edited(folder: Path, contents: Mapping[str, bytes], manifest: Manifest) -> None:
    """Raise if a file that would be replaced or removed is not as it was written."""
    edited = [
        path
        for path in sorted({*contents, *manifest.digests})
        if (found := read(folder / path)) is not None
        and found != contents.get(path)
        and not manifest.has(path, found)
        and is_edited(found.decode(errors="replace"))
    ]
    if edited:
        raise EditedFilesError(where=str(folder), got=", ".join(edited))


def difference(folder: Path, contents: Mapping[str, bytes], manifest: Manifest) -> Changes:
    """Compare the folder with what it is to contain.

    Raises
    ------
    LeavesFolderError, EditedFilesError
        OPW-B023, OPW-B001.
    """
    check_inside(folder, contents, listed_by="the files to be written")
    check_inside(folder, manifest.digests, listed_by=str(folder / MANIFEST))
    refuse_edited(folder, contents, manifest)
    written = [path for path, content in contents.items() if read(folder / path) != content]
    return Changes(
        written=tuple(written),
        removed=tuple(
            path
            for path in sorted(manifest.digests)
            if path not in contents and (folder / path).is_file()
        ),
        unchanged=tuple(path for path in contents if path not in written),
    )


def apply(
    folder: Path, contents: Mapping[str, bytes], changes: Changes, manifest: Manifest
) -> None:
    """Write and remove; the manifest always lists what is there, also halfway."""
    clean(folder, {*contents, *manifest.digests})
    files = {path: digest_of(content) for path, content in contents.items()}
    if changes:
        replaced = {
            path: digest_of(found)
            for path in (*changes.written, *changes.removed)
            if (found := read(folder / path)) is not None
        }
        replace(folder / MANIFEST, manifest_text(files, replaced))
    for path in changes.written:
        replace(folder / path, contents[path])
    for path in changes.removed:
        (folder / path).unlink(missing_ok=True)
        remove_empty(folder, (folder / path).parent)
    final = manifest_text(files, {})
    if read(folder / MANIFEST) != final:
        replace(folder / MANIFEST, final)


def manifest_text(files: Mapping[str, str], replaced: Mapping[str, str]) -> bytes:
    """Return the manifest."""
    content: dict[str, object] = {"files": files}
    if replaced:
        content["replaced"] = dict(sorted(replaced.items()))
    return (json.dumps(content, indent=2) + "\n").encode()


def replace(path: Path, content: bytes) -> None:
    """Write a file at once: as a private one that is then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    temporary.write_bytes(content)
    temporary.replace(path)


def clean(folder: Path, paths: Iterable[str]) -> None:
    """Remove private files that a killed process left; the lock says that nobody uses them."""
    for parent in {folder, *((folder / path).parent for path in paths)}:
        for left in parent.glob(f".*{TEMPORARY}"):
            left.unlink()


def remove_empty(folder: Path, parent: Path) -> None:
    """Remove a folder that became empty, and those around it that did."""
    while parent != folder and not any(parent.iterdir()):
        parent.rmdir()
        parent = parent.parent
