"""Operators that are for other versions of torch than the one that is built for."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright as ow
from opwright.errors import DiagnosticsError
from opwright.kit.packaging.emitted_tree import read_sources
from opwright.kit.packaging.errors import NoOperatorError
from opwright.kit.packaging.versions import for_version, has_release
from opwright.project.config import read_project, retarget

HERE = Path(__file__).name


def declared(**ranges: str) -> ow.OperatorSet:
    """Return a set with an operator for each range."""
    ops = ow.OperatorSet("demo")
    for name, text in ranges.items():
        ops.declare(f"{name}(Tensor x) -> Tensor", torch=text)
    return ops


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        (">=2.13", True),
        (">=2.13.1,<2.14", True),
        ("<3", True),
        ("~=2.13.0", True),
        ("!=2.13.0", True),
        ("!=2.13.*", False),
        ("<2.13", False),
        (">=2.14", False),
    ],
)
def test_ranges(text: str, allowed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert has_release(text, "2.13") is allowed


def test_operators_for_other_versions_are_left_out_and_reported() -> None:
    declaration, notes = for_version(
        declared(old="<2.13", present=">=2.13", any="").freeze(), "2.13"
    )
    assert [operator.name for operator in declaration.operators] == ["present", "any"]
    assert [note.partition(": ")[2] for note in notes] == [
        "demo::old is left out, it is for torch <2.13"
    ]


def test_the_range_of_the_set_is_that_of_operators_without_one() -> None:
    ops = ow.OperatorSet("demo", torch=">=2.14", torch_npu=">=2.14")
    ops.declare("one(Tensor x) -> Tensor", torch=">=2.13", torch_npu=">=2.13")
    ops.declare("two(Tensor x) -> Tensor")
    declaration, notes = for_version(ops.freeze(), "2.13")
    assert [operator.name for operator in declaration.operators] == ["one"]
    assert notes[0].endswith("demo::two is left out, it is for torch >=2.14 and torch_npu >=2.14")


def test_no_operator_is_left() -> None:
    declaration = declared(old="<2.13").freeze()
    with pytest.raises(NoOperatorError) as caught:
        for_version(declaration, "2.13")
    place = declaration.operators[0].place
    assert str(caught.value) == (
        "OPW-B022 no operator is for this version of torch\n"
        f"  where:   {declaration.place}\n"
        f"  got:     torch 2.13; {place}: demo::old is left out, it is for torch <2.13\n"
        "  fix:     change torch= and torch_npu= in the declaration, or torch in pyproject.toml, "
        "section [tool.opwright]"
    )


# Text: the file of a project, whose ranges of versions differ by test.
DECLARATION = """
import opwright as ow

ops = ow.OperatorSet("my_ops", version="1.0")

@ops.operator("twice(Tensor x) -> Tensor", backward="twice_backward(grad)")
def twice(x):
    return x * 2

@ops.operator("twice_backward(Tensor grad) -> Tensor", torch="<2.13")
def twice_backward(grad):
    return grad * 2

@ops.operator("thrice(Tensor x) -> Tensor", torch="{range}")
def thrice(x):
    return x * 3
"""


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(
        '[tool.opwright]\ndeclaration = "operators.py"\npackage = "my_ops"\n'
    )
    (folder / "operators.py").write_text(text)
    return folder


def test_what_is_left_may_not_name_what_is_not(tmp_path: Path) -> None:
    found = retarget(read_project(project(tmp_path, DECLARATION.format(range=">=2.13"))), "2.13")
    with pytest.raises(DiagnosticsError, match="twice_backward"):
        read_sources(found, found.options)


def test_the_emitted_package_has_only_what_is_left(tmp_path: Path) -> None:
    text = DECLARATION.format(range="<2.13").replace('torch="<2.13")\ndef twice_', ")\ndef twice_")
    found = retarget(read_project(project(tmp_path, text)), "2.13")
    sources = read_sources(found, found.options)
    assert [note.partition(": ")[2] for note in sources.notes] == [
        "my_ops::thrice is left out, it is for torch <2.13"
    ]
    emitted = {p: t for p, t in sources.files.items() if "thrice" in t}
    assert emitted == {}
