"""The kernels that a preprocessed source defines."""

from __future__ import annotations

import pytest

from opwright.ascendc.kernel_functions import KernelFunction, find_kernels, kernel_named


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("opwright_global void f(int x) { }", [("f", "kUnknown")]),
        ('extern "C" opwright_global opwright_vector void f() {}', [("f", "kVector")]),
        ('extern "C" { opwright_global opwright_cube void f() {} }', [("f", "kCube")]),
        ("opwright_global opwright_mix(1, 2) void f() {}", [("f", "kMix12")]),
        ("opwright_global __attribute__((used)) void f() {}", [("f", "kUnknown")]),
        ("namespace a::b { opwright_global void f() {} }", [("a::b::f", "kUnknown")]),
        ("namespace { opwright_global void f() {} }", [("f", "kUnknown")]),
        (
            "namespace a { void g() { if (1) {} } } opwright_global void f() {}",
            [("f", "kUnknown")],
        ),
        ("template <class T> opwright_global opwright_vector void f(T x) {}", []),
        ("opwright_global void f(int x);", []),
        (
            "opwright_global opwright_cube void f(); opwright_global void f() {}",
            [("f", "kCube")],
        ),
        ('# 1 "/sys.h" 1 3 4\nopwright_global void f() {}\n# 2 "a.asc" 2\n', []),
        ('# 1 "a.asc" 3 4\nopwright_global\n# 1 "a.asc"\nvoid f() {}', [("f", "kUnknown")]),
    ],
)
def test_kernels_are_found(source: str, found: list[tuple[str, str]]) -> None:
    kernels, _ = find_kernels(source)
    assert [(kernel.expression, kernel.kind) for kernel in kernels] == found


def test_a_name_expression_has_the_kind_of_its_template() -> None:
    _, kinds = find_kernels("template <class T> opwright_global opwright_vector void f(T x) {}")
    assert kernel_named(" & a::f<std::pair<int, int>>", kinds) == KernelFunction(
        "a::f<std::pair<int, int>>", "kVector"
    )
    assert kernel_named("a::f<int>", kinds).name == "f"
    assert kernel_named("g", kinds).kind == "kUnknown"
