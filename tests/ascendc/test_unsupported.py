"""Functions that do not exist here are compile errors that say so."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.ascendc.kernels import compile_command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.build

KERNEL = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void kernel(GM_ADDR x) {{
  AscendC::LocalTensor<float> a;
  {call};
  (void)x;
}}
"""


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("AscendC::AbsSub(a, a, a, 8)", "AbsSub"),
        ("AscendC::Fma<true>(a, a, 8)", "Fma"),
        ("AscendC::AtomicAdd<float>((__gm__ float*)x, 1.0f)", "AtomicAdd"),
    ],
)
def test_a_call_of_another_product_names_the_page(call: str, name: str, tmp_path: Path) -> None:
    source = tmp_path / "kernel.cpp"
    source.write_text(KERNEL.format(call=call))
    command = compile_command(source, tmp_path / "kernel.so")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    error = f"AscendC::{name} does not exist on Atlas A2; docs/ascend_c.md lists what is supported"
    assert error in done.stderr
    assert f"{source}:5" in done.stderr
