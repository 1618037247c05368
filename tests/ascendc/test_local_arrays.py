"""Arrays in memories of the core: opwright/ascendc/local_arrays.py."""

from __future__ import annotations

import pytest

from opwright.ascendc.local_arrays import rewrite_local_arrays


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__ubuf__ float x[8];", "OPWRIGHT_LOCAL_ARRAY(kUnified, x, float[8]);"),
        (
            "__cbuf__ ns::T x[2][f(1, 2)] ;\ny;",
            "OPWRIGHT_LOCAL_ARRAY(kL1, x, ns::T[2][f(1, 2)]);\ny;",
        ),
        (
            "__ubuf__ unsigned\nchar x[N[1]];",
            "OPWRIGHT_LOCAL_ARRAY(kUnified, x, unsigned\nchar[N[1]]);",
        ),
    ],
)
def test_a_declaration_takes_its_place_at_run_time(source: str, expected: str) -> None:
    assert rewrite_local_arrays(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "f((__ubuf__ float*)p);",
        "void f(__ubuf__ float x[8]);",
        "__ubuf__ float* x;",
        "__ubuf__ float* x = y;",
        '// __ubuf__ float x[8];\nprint("__ubuf__ float x[8];");',
        "__ubuf__",
        "__ubuf__ float x[",
    ],
)
def test_all_else_stays(source: str) -> None:
    assert rewrite_local_arrays(source) == source
