"""docs/errors.md is made from the classes, and is fresh."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tools import error_pages

if TYPE_CHECKING:
    from pathlib import Path


def test_page_is_fresh() -> None:
    fresh = error_pages.PAGE.read_text(encoding="utf-8") == error_pages.page()
    assert fresh, "run python tools/error_pages.py"


def test_identifiers_are_unique() -> None:
    counts = Counter(each.id for each in error_pages.error_classes())
    assert {name: count for name, count in counts.items() if count > 1} == {}


def test_every_validation_error_is_on_the_page() -> None:
    names = {each.id for each in error_pages.error_classes()}
    assert {f"OPW-D{number:03}" for number in range(1, 62)} <= names


RAISED = re.compile(r"\b(?:ACL_ERROR|ACLNN_ERR|HCCL_E)_[A-Z0-9_]+")


def native_files() -> list[Path]:
    """Return the sources of the native libraries without those that declare CANN's types."""
    native = error_pages.ROOT / "native"
    return [
        path
        for suffix in ("*.cpp", "*.h")
        for path in sorted(native.rglob(suffix))
        if path.relative_to(native).parts[0] != "abi"
    ]


def test_what_native_code_reports_has_a_class() -> None:
    names = {each.id for each in error_pages.error_classes()}
    texts = [path.read_text(encoding="utf-8") for path in native_files()]
    reported = set(re.findall(r'"(OPW-[A-Z]\d{3})"', "\n".join(texts)))
    assert "OPW-X001" in reported
    assert reported - names == set()


def test_the_page_has_the_codes_that_native_code_answers_with() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in native_files())
    assert {row["name"] for row in error_pages.cann_codes()} == set(RAISED.findall(text))


def test_codes_are_those_of_the_headers() -> None:
    headers = (error_pages.ROOT / "native" / "abi").rglob("*.h")
    text = "\n".join(path.read_text(encoding="utf-8") for path in headers)
    known = dict(re.findall(r"\b((?:ACL|HCCL)\w+) = (\d+)", text))
    rows = error_pages.cann_codes()
    assert {row["name"] for row in rows} <= known.keys()
    assert {row["name"]: row["code"] for row in rows} == {
        row["name"]: known[row["name"]] for row in rows
    }


def package_with(folder: Path, source: str) -> Path:
    package = folder / "package"
    package.mkdir()
    (package / "errors.py").write_text(source, encoding="utf-8")
    return package


def test_a_class_says_what_the_page_needs(tmp_path: Path) -> None:
    # Text: it is read, not run.
    source = (
        "class SizeError(OpwrightError):\n"
        '    """A size.\n\n    Parameters\n    ----------\n    x\n    """\n'
        '    id = "OPW-D001"\n    title = "t"\n    usual_fix = "a" "b"\n    severity = "warning"\n'
    )
    assert error_pages.error_classes(package_with(tmp_path, source)) == (
        error_pages.ErrorClass(
            id="OPW-D001",
            name="SizeError",
            module="package.errors",
            title="t",
            fix="ab",
            doc="A size.",
            severity="warning",
        ),
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('"""A size."""\n    title = "t"', "package.errors.SizeError has no literal usual_fix"),
        ('title = "t"\n    usual_fix = "f"', "package.errors.SizeError has no literal docstring"),
    ],
)
def test_a_class_that_lacks_something_is_named(tmp_path: Path, body: str, message: str) -> None:
    source = f'class SizeError(OpwrightError):\n    {body}\n    id = "OPW-D001"\n'
    with pytest.raises(error_pages.PageError, match=message):
        error_pages.error_classes(package_with(tmp_path, source))
