"""The mutants of benchmarks/check_mutants.py: each is one change that still parses."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mutants.in_cpp import mutants_of_cpp
from mutants.in_declarations import mutants_of_declarations, without
from mutants.in_python import mutants_of
from mutants.log import Explanation, Log, Result, read_explanations

if TYPE_CHECKING:
    from collections.abc import Callable

    from mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]
PYTHON = b'''
def forward(x, w, *, eps=1e-6):
    """A text with 1 + 2, which nothing runs."""
    y: "1 < 2" = x.contiguous().float() + eps
    if y.dim() < 2:
        y.mul_(w)
    return torch.exp(y).to(torch.float16), (w - 1)
'''

DECLARATION = b"""
SAMPLE = {"x": ow.tensor(2, 3)}


@ops.operator(
    "scale_(Tensor(a!) x, Tensor w, *, float eps=1e-6) -> Tensor(a!)",
    shapes={"x": "*batch, D", "w": "D"},
    dtypes={"x": "float32 float16", "w": "x"},
    requires=["eps > 0", "D < 9"],
    backward={"x": "grad * w"},
    samples=[ow.sample(**SAMPLE, eps=2.0)],
    tolerances={"float16": (1e-2, 1e-3)},
)
def scale_(x, w, *, eps=1e-6):
    return x.mul_(w)
"""

CPP = b"""
void run(const at::Tensor& x, int64_t size) {
  TORCH_CHECK(size < 4, "size is ", size, "; at most ", 3);
  auto y = x.contiguous();
  copy(y, size + 1);
  PipeBarrier<PIPE_V>();
}
"""


def texts(source: bytes, mutants: list[Mutant]) -> dict[str, set[str]]:
    """Return the changed lines of mutants, by kind."""
    found: dict[str, set[str]] = {}
    for each in mutants:
        found.setdefault(each.kind, set()).add(each.lines(source)[1])
    return found


def test_python() -> None:
    found = texts(PYTHON, mutants_of(PYTHON))
    assert found["operator"] == {
        'y: "1 < 2" = x.contiguous().float() - eps',
        "return torch.exp(y).to(torch.float16), (w + 1)",
    }
    assert found["comparison"] == {"if y.dim() <= 2:"}
    assert found["condition"] == {"if not (y.dim() < 2):"}
    assert found["dropped copy"] == {'y: "1 < 2" = x.float() + eps'}
    assert found["dropped cast"] == {
        'y: "1 < 2" = x.contiguous() + eps',
        "return torch.exp(y), (w - 1)",
    }
    assert found["not in place"] == {"y.mul(w)"}
    assert "pass" in found["dropped statement"]
    assert found["dtype"] == {"return torch.exp(y).to(torch.float32), (w - 1)"}
    assert found["swapped results"] == {"return w - 1, (torch.exp(y).to(torch.float16))"}
    assert found["off by one"] == {
        "if y.dim() < 1:",
        "if y.dim() < 3:",
        "return torch.exp(y).to(torch.float16), (w - 0)",
        "return torch.exp(y).to(torch.float16), (w - 2)",
    }


def test_a_declaration() -> None:
    found = texts(DECLARATION, mutants_of_declarations(DECLARATION))
    assert found["schema"] == {
        '"scale_(Tensor x, Tensor w, *, float eps=1e-6) -> Tensor(a!)",',
        '"scale_(Tensor(a!) x, Tensor w, *, float eps=1e-6) -> Tensor",',
        '"scale_(Tensor(a!) x, Tensor w, *, float eps=1.000001) -> Tensor(a!)",',
    }
    assert found["dropped condition"] == {'requires=["D < 9"],', 'requires=["eps > 0"],'}
    assert 'requires=["eps >= 0", "D < 9"],' in found["changed condition"]
    assert found["dtype rule"] >= {
        'dtypes={"x": "float16", "w": "x"},',
        'dtypes={"x": "float32 float16", "w": "float32"},',
        'dtypes={"x": "float32 float16"},',
    }
    assert found["shape rule"] >= {
        'shapes={"x": "D, *batch", "w": "D"},',
        'shapes={"x": "*batch, D", "w": "D+1"},',
        'shapes={"x": "*batch, D"},',
    }
    assert 'backward={"x": "grad / w"},' in found["backward formula"]
    changed = {line for lines in found.values() for line in lines}
    assert not [line for line in changed if "ow.sample" in line or "tolerances" in line]
    assert not [line for line in changed if "SAMPLE =" in line]


def test_rules_of_another_library_are_those_of_its_results() -> None:
    found = texts(DECLARATION, mutants_of_declarations(DECLARATION, is_existing=True))
    kinds = ["added copy", "constant", "dropped call", "not in place", "wrong variable"]
    assert sorted(found) == kinds


def test_a_library_needs_no_samples() -> None:
    left = without(DECLARATION, "samples", "errors")
    assert left.count(b"\n") == DECLARATION.count(b"\n")
    (function,) = (each for each in ast.parse(left).body if isinstance(each, ast.FunctionDef))
    (decorator,) = function.decorator_list
    assert isinstance(decorator, ast.Call)
    names = [each.arg for each in decorator.keywords]
    assert names == ["shapes", "dtypes", "requires", "backward", "tolerances"]


def test_cpp() -> None:
    found = texts(CPP, mutants_of_cpp(CPP))
    assert found["comparison"] == {'TORCH_CHECK(size <= 4, "size is ", size, "; at most ", 3);'}
    assert found["dropped copy"] == {"auto y = x;"}
    assert found["dropped synchronisation"] == {";"}
    assert found["swapped arguments"] == {"copy(size + 1, y);"}
    assert found["operator"] == {"copy(y, size - 1);"}
    assert found["off by one"] == {
        'TORCH_CHECK(size < 3, "size is ", size, "; at most ", 3);',
        'TORCH_CHECK(size < 5, "size is ", size, "; at most ", 3);',
        "copy(y, size + 0);",
        "copy(y, size + 2);",
    }


@pytest.mark.parametrize(
    ("source", "mutants_in"), [(PYTHON, mutants_of), (DECLARATION, mutants_of_declarations)]
)
def test_each_mutant_is_another_program(
    source: bytes, mutants_in: Callable[[bytes], list[Mutant]]
) -> None:
    trees = [ast.dump(ast.parse(source))]
    trees += [ast.dump(ast.parse(each.apply(source))) for each in mutants_in(source)]
    assert len(trees) > 20
    assert len(set(trees)) == len(trees)


def test_a_mutant_keeps_its_name_when_lines_come_before_it() -> None:
    later = b"import torch\n" + PYTHON
    names = [each.identity("x.py", PYTHON) for each in mutants_of(PYTHON)]
    assert [each.identity("x.py", later) for each in mutants_of(later)] == names
    assert len(set(names)) == len(names)


RESULT = Result(
    identity="0123",
    target="template in-place",
    kind="operator",
    file="x.py",
    line=3,
    before="x + y",
    after="x - y",
    verdict="survived",
    by="",
    seconds=1.5,
)


def test_a_log_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "build" / "log.tsv"
    Log(path).add(RESULT)
    with path.open("a", encoding="utf-8") as stream:
        stream.write("4567\ttemplate")
    assert Log(path).results == {("template in-place", "0123"): RESULT}


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [("x - y", True), ("x ...", True), ("...", True), ("x", False), ("... - z", False)],
)
def test_an_explanation_fits_a_text_or_a_part(pattern: str, *, fits: bool) -> None:
    explanation = Explanation(
        is_equivalent=True,
        target="template ...",
        kind="operator",
        before="x + y",
        after=pattern,
        reason="subtraction is all that is left",
    )
    assert explanation.fits(RESULT) is fits


def test_each_survivor_that_is_explained_has_a_reason() -> None:
    explanations = read_explanations(ROOT / "benchmarks" / "mutants" / "explanations.tsv")
    assert [each for each in explanations if not each.reason.strip()] == []
    assert len(set(explanations)) == len(explanations)
