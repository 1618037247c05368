"""Files -> a wheel. Two wheels of equal files are equal byte for byte.

Source: the binary distribution format of the Python Packaging Authority (version 1.0), core
metadata 2.4.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import sysconfig
import time
import zipfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Literal

from opwright import __version__
from opwright.kit.packaging.errors import PackageError, WheelError
from opwright.lock import hold_lock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "Form",
    "Metadata",
    "Tag",
    "archive_time",
    "record",
    "wheel_name",
    "write_wheel",
]

# Earliest moment that a zip archive can state.
EPOCH = 315532800
TEMPORARY = ".opwright-new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """A wheel's core metadata: its fields in order, and the readme."""

    name: str
    version: str
    fields: tuple[tuple[str, str], ...]
    readme: str = ""

    def __str__(self) -> str:
        lines = ["Metadata-Version: 2.4", f"Name: {self.name}", f"Version: {self.version}"]
        lines += [f"{name}: {value}" for name, value in self.fields]
        if self.readme:
            lines += ["Description-Content-Type: text/markdown", "", self.readme.rstrip()]
        return "\n".join(lines) + "\n"


Form = Literal["library", "stable library", "pure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """The platforms that a wheel can be installed on."""

    python: str
    abi: str
    platform: str

    @classmethod
    def of(cls, form: Form) -> Tag:
        """Return the tag for this Python and machine.

        A library that uses libtorch's C++ is bound to this Python by torch's own wheel; one for the
        stable ABI is loaded by any.
        """
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if form == "pure":
            return cls(python="py3", abi="none", platform="any")
        if form == "stable library":
            return cls(python="py3", abi="none", platform=platform)
        this = f"cp{sysconfig.get_config_var('py_version_nodot')}"
        return cls(python=this, abi=this, platform=platform)

    def __str__(self) -> str:
        return f"{self.python}-{self.abi}-{self.platform}"


def normalize_name(name: str) -> str:
    """Return a distribution's name as it stands in file names."""
    return re.sub(r"[-_.]+", "_", name).lower()


def wheel_name(metadata: Metadata, tag: Tag) -> str:
    """Return a wheel's file name."""
    return f"{normalize_name(metadata.name)}-{metadata.version}-{tag}.whl"


def archive_time(environ: Mapping[str, str]) -> tuple[int, int, int, int, int, int]:
    """Return the time that all files of an archive get.

    Raises
    ------
    PackageError
        OPW-B019: SOURCE_DATE_EPOCH is no number.
    """
    text = environ.get("SOURCE_DATE_EPOCH", str(EPOCH))
    if not text.isdecimal():
        raise PackageError(where="SOURCE_DATE_EPOCH", got=repr(text))
    moment = time.gmtime(max(EPOCH, int(text)))
    return moment[:6]


def write_wheel(folder: Path, files: Mapping[str, bytes], metadata: Metadata, tag: Tag) -> Path:
    """Write a wheel into a folder, which is made; a wheel of the same name is replaced.

    Parameters
    ----------
    files
        Content by path in the wheel.

    Raises
    ------
    WheelError, PackageError
        OPW-B018, OPW-B019.
    """
    moment = archive_time(os.environ)
    about = f"{normalize_name(metadata.name)}-{metadata.version}.dist-info"
    is_pure = "true" if tag.platform == "any" else "false"
    generator = f"Wheel-Version: 1.0\nGenerator: opwright {__version__}\n"
    contents = {
        **dict(sorted(files.items())),
        f"{about}/METADATA": str(metadata).encode(),
        f"{about}/WHEEL": f"{generator}Root-Is-Purelib: {is_pure}\nTag: {tag}\n".encode(),
    }
    contents[f"{about}/RECORD"] = record(contents, f"{about}/RECORD")
    place = folder / wheel_name(metadata, tag)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder):
            # The lock makes it ours, so what a killed process left is removed.
            new = folder / f".{place.name}{TEMPORARY}"
            new.unlink(missing_ok=True)  # a link of this name is not followed either
            try:
                with new.open("wb") as stream:
                    archive(stream, contents, moment)
                new.replace(place)
            finally:
                new.unlink(missing_ok=True)
    except OSError as error:
        raise WheelError(where=str(place), got=str(error)) from error
    return place


def archive(
    stream: IO[bytes], contents: Mapping[str, bytes], moment: tuple[int, int, int, int, int, int]
) -> None:
    """Write the archive."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for path, content in contents.items():
            info = zipfile.ZipInfo(path, moment)
            info.create_system = 3  # Unix, whatever this machine is
            info.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if path.endswith(".so") else 0o644
            info.external_attr = (stat.S_IFREG | mode) << 16
            target.writestr(info, content)


def record(contents: Mapping[str, bytes], name: str) -> bytes:
    """Return the list of a wheel's files with digests; its own line, of this name, has none."""
    lines = [
        f"{quote(path)},sha256={url_digest(content)},{len(content)}\n"
        for path, content in contents.items()
    ]
    return "".join([*lines, f"{name},,\n"]).encode()


def url_digest(content: bytes) -> str:
    """Return a digest in the form that RECORD has."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def quote(path: str) -> str:
    """Return a path as a field of comma-separated values."""
    return '"{}"'.format(path.replace('"', '""')) if re.search(r'[",\n]', path) else path
