"""Every function and kernel says where its behaviour can be read, and docs/sources.md is fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.aclnn.sources import Form, form_of
from opwright.coverage.converters import converters
from tools import source_page
from tools.source_page import functions, kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.source_page import Entry


@pytest.mark.parametrize("read", [functions, kernels])
def test_every_entry_has_a_source(read: Callable[[], tuple[Entry, ...]]) -> None:
    entries = read()  # here, so that collecting tests loads no kernel
    assert entries
    for entry in entries:
        form_of(entry.source)  # raises for what has no form


def test_a_document_is_about_its_function() -> None:
    """A page has the names of its functions in its own, but for case."""
    pages = {
        entry.name: entry.source.rsplit("/", 1)[-1].removesuffix(".md").lower().split("&")
        for entry in functions()
        if entry.source.endswith(".md")
    }
    assert pages
    assert {name: page for name, page in pages.items() if name.lower() not in page} == {}


def test_converters_make_the_types() -> None:
    """Of the converters that the installed TorchAir has; an older one has fewer."""
    named = {
        (entry.source.removeprefix("torchair:"), entry.name)
        for entry in kernels()
        if entry.source.startswith("torchair:")
    }
    found = converters({op_type for _, op_type in named})
    operators = {each.operator for each in found}
    made = {(each.operator, op_type) for each in found for op_type in each.types}
    assert named & made
    assert {
        (operator, op_type) for operator, op_type in named - made if operator in operators
    } == set()


def test_page_is_fresh() -> None:
    fresh = source_page.PAGE.read_text(encoding="utf-8") == source_page.page()
    assert fresh, "run python tools/source_page.py"


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("ops-math:math/abs/docs/aclnnAbs.md", Form.DOCUMENT),
        ("torch_npu:_op_plugin_docs.py:npu_diou", Form.DOCUMENT),
        ("graphengine:third_party/fwkacllib/inc/ops/reduce_ops.h", Form.HEADER),
        ("ops-math:math/top_k_v2/tests/assets/golden.py", Form.TEST),
        ("torchair:aten.std.correction", Form.CALLER),
        ("op-plugin:op_plugin/ops/aclops/NormKernelNpu.cpp", Form.CALLER),
        ("inferred", Form.INFERRED),
    ],
)
def test_forms(source: str, form: Form) -> None:
    assert form_of(source) is form


@pytest.mark.parametrize("source", ["", "aclnnAbs.md", "ops-math:abs.txt", "inferred from Abs"])
def test_anything_else_is_no_source(source: str) -> None:
    with pytest.raises(ValueError, match="is no source"):
        form_of(source)
