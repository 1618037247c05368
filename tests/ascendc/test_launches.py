"""Launches of kernels: opwright/ascendc/launches.py."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.ascendc.errors import LaunchSyntaxError
from opwright.ascendc.launches import has_launches, rewrite_launches

if TYPE_CHECKING:
    from pathlib import Path

# A launch, as a macro that keeps the pieces: enough for any compiler to read it.
PRELUDE = """
#include <cstdio>
#include <vector>
namespace AscendC::machine { enum class KernelKind { kUnknown = -1, kVector, kCube, kMix12 = 5 }; }
struct OpwrightConfiguration {
  long blocks, l2, stream;
  OpwrightConfiguration(long b, long l, long s = 7) : blocks(b), l2(l), stream(s) {}
};
template <class K, class... A>
void opwright_launch(const char* name, AscendC::machine::KernelKind kind, K kernel,
                     OpwrightConfiguration c, A... a) {
  std::printf("%s %d %ld %ld %ld: ", name, static_cast<int>(kind), c.blocks, c.l2, c.stream);
  kernel(a...);
}
#define __global__
#define __vector__
#define __mix__(a, b)
"""

SOURCE = """
namespace ns {
template <class T, int N> __global__ __mix__(1, 2) void scaled(T x, const char* text) {
  std::printf("%d %s at %d\\n", static_cast<int>(x) * N, text, __LINE__);
}
}
template <class T> __global__ __vector__ void deduced(T x) { std::printf("%ld\\n", x); }
__global__ void plain() { std::printf("nothing\\n"); }
int main() {
  // plain<<<1, 0>>>();
  const char* text = "plain<<<1, 0>>>()";
  ns::scaled<int, (3 > 2 ? 2 : 1)>
      <<<1 + 1, 0,  // blocks, and more
         std::vector<long>{4, 5}[1]>>>(21,
    text);
  deduced<<<8, 0>>>(3L); plain<<<1, 0, 9>>>();
  std::printf("line %d\\n", __LINE__);
}
"""


def test_a_rewritten_source_calls_the_kernels_and_keeps_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "launch.cpp"
    file.write_text(PRELUDE + "#line 1\n" + rewrite_launches(SOURCE, where="launch.asc"))
    subprocess.run(["g++", "-std=c++17", str(file), "-o", str(tmp_path / "launch")], check=True)
    output = subprocess.run([tmp_path / "launch"], check=True, capture_output=True, text=True)
    assert output.stdout.splitlines() == [
        "scaled 5 2 0 5: 42 plain<<<1, 0>>>() at 4",
        "deduced 0 8 0 7: 3",
        "plain -1 1 0 9: nothing",
        "line 17",
    ]


@pytest.mark.parametrize(
    ("source", "got"),
    [
        ("k<<<8, 0, s, 4>>>(x);", "4 values between <<< and >>>"),
        ("k<<<8>>>(x);", "1 values between <<< and >>>"),
        ("\n\nk<<<8, 0>>> x;", "no ( behind >>>"),
        ("(<<<8, 0>>>)(x);", "no name of a kernel before <<<"),
        ("k<<<8, 0; f();", "no >>> behind <<<"),
        ("k<<<8, f(0>>>(x);", "a ( that nothing closes"),
        ("k><<<8, 0>>>(x);", "a > without < before <<<"),
    ],
)
def test_what_is_no_launch_is_refused_with_its_line(source: str, got: str) -> None:
    with pytest.raises(LaunchSyntaxError) as raised:
        rewrite_launches(source, where="k.asc")
    assert got in str(raised.value)
    assert f"k.asc:{source.count(chr(10)) + 1}" in str(raised.value)


@given(st.text(alphabet="ab<>(){}[];,\"'/*\\\n #R8", max_size=60))
def test_any_text_is_rewritten_or_refused(source: str) -> None:
    try:
        rewritten = rewrite_launches(source, where="any")
    except LaunchSyntaxError:
        return
    assert rewritten.count("\n") == source.count("\n")
    if not has_launches(source):
        assert rewritten == source
