"""Wheels: what is in them, and that equal files give equal bytes."""

from __future__ import annotations

import csv
import io
import resource
import sys
import sysconfig
import zipfile
from email import message_from_string
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import Metadata as CoreMetadata
from packaging.utils import parse_wheel_filename

from opwright.kit.packaging.errors import PackageError, WheelError
from opwright.kit.packaging.wheel import (
    Metadata,
    Tag,
    archive_time,
    quote,
    url_digest,
    wheel_name,
    write_wheel,
)
from tests.alone import alone
from tests.twin.on_twin import printed

if TYPE_CHECKING:
    from opwright.kit.packaging.wheel import Form

METADATA = Metadata(
    name="My.Ops",
    version="1.0",
    fields=(("Summary", "Operators"), ("Requires-Python", ">=3.11"), ("Requires-Dist", "torch")),
    readme="# My ops\n\nText.",
)
FILES = {"my_ops/__init__.py": b"x = 1\n", "my_ops/libmy_ops.so": b"\x7fELF", "my_ops/a,b.txt": b""}
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")
PYTHON = "cp{}{}".format(*sys.version_info)


@pytest.mark.parametrize(
    ("form", "tag"),
    [
        ("library", f"{PYTHON}-{PYTHON}-{PLATFORM}"),
        ("stable library", f"py3-none-{PLATFORM}"),
        ("pure", "py3-none-any"),
    ],
)
def test_tags(form: Form, tag: str) -> None:
    found = Tag.of(form)
    assert str(found) == tag
    name, version, _, tags = parse_wheel_filename(wheel_name(METADATA, found))
    assert (name, str(version), {str(each) for each in tags}) == ("my-ops", "1.0", {tag})


def test_contents(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "dist", FILES, METADATA, Tag.of("library"))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        contents = {name: archive.read(name) for name in names}
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    about = "my_ops-1.0.dist-info"
    assert names == [
        *sorted(FILES),
        *(f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD")),
    ]
    assert {name: contents[name] for name in FILES} == FILES
    assert modes["my_ops/libmy_ops.so"] == 0o100755
    assert modes["my_ops/__init__.py"] == 0o100644
    record = {
        path: rest for path, *rest in csv.reader(io.StringIO(contents[f"{about}/RECORD"].decode()))
    }
    assert record == {
        **{
            name: [f"sha256={url_digest(content)}", str(len(content))]
            for name, content in contents.items()
            if not name.endswith("RECORD")
        },
        f"{about}/RECORD": ["", ""],
    }
    about_wheel = message_from_string(contents[f"{about}/WHEEL"].decode())
    assert about_wheel["Root-Is-Purelib"] == "false"
    assert about_wheel["Tag"] == str(Tag.of("library"))
    core = CoreMetadata.from_email(contents[f"{about}/METADATA"])
    assert (core.name, str(core.version), core.summary) == ("My.Ops", "1.0", "Operators")
    assert str(core.requires_python) == ">=3.11"
    assert [str(each) for each in core.requires_dist or ()] == ["torch"]
    assert core.description == "# My ops\n\nText.\n"


def write_letters(folder: str) -> None:
    """Write a wheel of files whose order follows Python's hashes."""
    files = {name: name.encode() for name in set("abcdefg")}
    write_wheel(Path(folder), files, Metadata(name="x", version="1", fields=()), Tag.of("pure"))


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    for index, zone in enumerate(("UTC", "Asia/Tokyo")):
        variables = {"PYTHONHASHSEED": str(index), "TZ": zone, "LC_ALL": "C"}
        printed(alone(write_letters, str(tmp_path / str(index)), **variables))
    first, second = ((tmp_path / str(index) / "x-1-py3-none-any.whl") for index in (0, 1))
    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_time() -> None:
    assert archive_time({}) == (1980, 1, 1, 0, 0, 0)
    assert archive_time({"SOURCE_DATE_EPOCH": "0"}) == (1980, 1, 1, 0, 0, 0)
    assert archive_time({"SOURCE_DATE_EPOCH": "1700000000"}) == (2023, 11, 14, 22, 13, 20)
    with pytest.raises(PackageError) as caught:
        archive_time({"SOURCE_DATE_EPOCH": "today"})
    assert str(caught.value) == (
        "OPW-B019 not a setting for packaging\n"
        "  where:   SOURCE_DATE_EPOCH\n"
        "  got:     'today'\n"
        "  fix:     unset it, or give seconds since 1970"
    )


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "dist").write_text("a file")
    with pytest.raises(WheelError, match="OPW-B018") as caught:
        write_wheel(tmp_path / "dist", FILES, METADATA, Tag.of("pure"))
    assert caught.value.where == str(tmp_path / "dist" / "my_ops-1.0-py3-none-any.whl")


def test_no_link_is_followed(tmp_path: Path) -> None:
    target, name = tmp_path / "target", wheel_name(METADATA, Tag.of("pure"))
    target.write_text("precious")
    out = tmp_path / "dist"
    out.mkdir()
    for each in (name, f".{name}.opwright-new"):
        (out / each).symlink_to(target)
    write_wheel(out, FILES, METADATA, Tag.of("pure"))
    assert target.read_text() == "precious"
    assert [path.name for path in out.iterdir() if not path.is_symlink()] == [name]


def write_on_a_full_disk(folder: str) -> None:
    """Write a wheel; RLIMIT_FSIZE stands for the disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    files = {f"{i}": str(i).encode() for i in range(99)}
    metadata = Metadata(name="My.Ops", version="1.0", fields=())
    with pytest.raises(WheelError) as caught:
        write_wheel(Path(folder), files, metadata, Tag.of("pure"))
    assert caught.value.id == "OPW-B018", caught.value
    assert caught.value.got == "[Errno 27] File too large", caught.value


def test_a_full_disk(tmp_path: Path) -> None:
    """The wheel that was there stays."""
    old = write_wheel(tmp_path, FILES, METADATA, Tag.of("pure"))
    before = old.read_bytes()
    (tmp_path / f".{old.name}.opwright-new").write_text("of a process that was killed")
    # Bytecode would be cut off as well.
    printed(alone(write_on_a_full_disk, str(tmp_path), PYTHONDONTWRITEBYTECODE="1"))
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
    assert old.read_bytes() == before


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_paths_in_record_are_read_back(path: str) -> None:
    ((read, *_),) = csv.reader(io.StringIO(f"{quote(path)},,\n"))
    assert read == path
