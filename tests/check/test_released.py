"""The schemas of a release are kept beside the declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.check.known.released import (
    FILE,
    Release,
    ReleasedSchemasError,
    read_releases,
    release_folder,
    write_release,
    write_releases,
)
from opwright.check.record import CheckedOperator

if TYPE_CHECKING:
    from pathlib import Path

RESCALE = "my_ops::rescale(Tensor x, float factor) -> Tensor"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_release(tmp_path, "my_ops", "1.0", [RESCALE])
    write_release(tmp_path, "others", "0.1", [])
    assert read_releases(tmp_path) == {
        "my_ops": Release(version="1.0", schemas={"my_ops::rescale": RESCALE}),
        "others": Release(version="0.1", schemas={}),
    }


def test_a_release_replaces_that_of_its_namespace_alone(tmp_path: Path) -> None:
    write_release(tmp_path, "my_ops", "1.0", [RESCALE])
    write_release(tmp_path, "others", "0.1", ["others::f(Tensor x) -> ()"])
    write_release(tmp_path, "my_ops", "1.1", [])
    found = read_releases(tmp_path)
    assert found["my_ops"] == Release(version="1.1", schemas={})
    assert list(found["others"].schemas) == ["others::f"]


def test_there_may_be_no_release(tmp_path: Path) -> None:
    assert read_releases(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("{", f"{FILE}:1"),
        ("[]", "a list"),
        ('{"my_ops": {"version": 1, "schemas": []}}', "my_ops"),
        ('{"my_ops": {"version": "1", "schemas": ["rescale"]}}', "my_ops"),
    ],
)
def test_a_file_that_is_none_is_reported(tmp_path: Path, text: str, got: str) -> None:
    file = tmp_path / FILE
    file.write_text(text)
    with pytest.raises(ReleasedSchemasError, match="OPW-C080") as caught:
        read_releases(tmp_path)
    assert got in str(caught.value)
    with pytest.raises(ReleasedSchemasError):
        write_release(tmp_path, "my_ops", "1.0", [])
    assert file.read_text() == text


def test_each_declaration_has_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    schema = "rescale(Tensor x, float factor) -> Tensor"
    operators = [
        CheckedOperator(name="my_ops::rescale", schema=schema, place=f"{there / 'ops.py'}:3"),
        CheckedOperator(name="lib::f", schema="f(Tensor x) -> ()", place="csrc/lib.cpp:10"),
    ]
    files = write_releases(operators, "2.0")
    assert [each.resolve() for each in files] == [there / FILE, here / FILE]
    assert read_releases(there)["my_ops"].schemas == {"my_ops::rescale": RESCALE}
    assert read_releases(release_folder("csrc/lib.cpp"))["lib"].version == "2.0"
