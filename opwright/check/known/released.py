"""The schemas of the last release: `schemas.json` beside the declaration.

```json
{"my_ops": {"version": "1.0", "schemas": ["my_ops::rescale(Tensor x, float f) -> Tensor"]}}
```

`opwright check TARGET --release 1.0` writes it. It is kept under version control: what a later
version changes is then compared with what users have.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.command_line.files import write_atomically
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.check.record import CheckedOperator

__all__ = [
    "FILE",
    "Release",
    "ReleasedSchemasError",
    "read_releases",
    "release_folder",
    "write_release",
    "write_releases",
]

FILE = "schemas.json"


class ReleasedSchemasError(OpwrightError):
    """The file with the schemas of the last release cannot be read."""

    id = "OPW-C080"
    title = "unreadable schemas of the last release"
    usual_fix = "restore the file from version control, or remove it and write it with --release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The released schemas of a namespace.

    Parameters
    ----------
    version
        Of the package.
    schemas
        By name of the operator, with namespace and overload: the text of its schema.
    """

    version: str
    schemas: Mapping[str, str]


def read_releases(folder: Path) -> dict[str, Release]:
    """Return the last releases by namespace; none if there is no file.

    Raises
    ------
    ReleasedSchemasError
        OPW-C080.
    """
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ReleasedSchemasError(where=f"{file}:{error.lineno}", got=error.msg) from error
    if not isinstance(content, dict):
        raise ReleasedSchemasError(where=str(file), got=f"a {type(content).__name__}")
    return {name: read_release(each, where=f"{file}, {name}") for name, each in content.items()}


def read_release(content: object, *, where: str) -> Release:
    """Read what the file has of one namespace."""
    match content:
        case {"version": str(version), "schemas": [*schemas]} if all(
            isinstance(each, str) and "(" in each for each in schemas
        ):
            named = {text.partition("(")[0]: text for text in map(str, schemas)}
            return Release(version=version, schemas=named)
    raise ReleasedSchemasError(where=where, got=repr(content)[:80])


def write_release(folder: Path, namespace: str, version: str, schemas: Iterable[str]) -> Path:
    """Write the schemas of a release over those of the one before; return the file.

    Raises
    ------
    ReleasedSchemasError
        OPW-C080: the file is there and cannot be read; it stays as it is.
    """
    releases = {
        name: {"version": each.version, "schemas": sorted(each.schemas.values())}
        for name, each in read_releases(folder).items()
    }
    releases[namespace] = {"version": version, "schemas": sorted(schemas)}
    file = folder / FILE
    write_atomically(file, json.dumps(releases, indent=2, sort_keys=True) + "\n", force=True)
    return file


def release_folder(file: str) -> Path:
    """Return the folder that keeps the schemas of what a file declares.

    That is the file's own; the working directory for a library that nobody declares.
    """
    path = Path(file)
    return path.parent if path.suffix == ".py" else Path()


def write_releases(operators: Iterable[CheckedOperator], version: str) -> list[Path]:
    """Write the schemas of all operators as released; return the files.

    Raises
    ------
    ReleasedSchemasError
        OPW-C080.
    """
    schemas: dict[tuple[Path, str], list[str]] = {}
    for each in operators:
        namespace = each.name.partition("::")[0]
        folder = release_folder(each.place.rpartition(":")[0] or each.place)
        schemas.setdefault((folder, namespace), []).append(f"{namespace}::{each.schema}")
    files = [
        write_release(folder, namespace, version, texts)
        for (folder, namespace), texts in schemas.items()
    ]
    return list(dict.fromkeys(files))
