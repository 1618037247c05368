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


LISTED = "docs/ascend_c_api.md lists what is supported"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("AscendC::AbsSub(a, a, a, 8)", "AscendC::AbsSub does not exist on Atlas A2; " + LISTED),
        ("AscendC::Fma<true>(a, a, 8)", "AscendC::Fma does not exist on Atlas A2; " + LISTED),
        (
            "AscendC::LoadData(a, a, AscendC::LoadData2DParamsV2{0, 0, 1, 1, 1, 1, false, 0})",
            "AscendC::LoadData with LoadData2DParamsV2 does not exist on Atlas A2; " + LISTED,
        ),
        (
            "AscendC::AtomicAdd<float>((__gm__ float*)x, 1.0f)",
            "AscendC::AtomicAdd does not exist on Atlas A2; " + LISTED,
        ),
        (
            "AscendC::GlobalTensor<AscendC::TensorTrait<float>> t",
            "AscendC::TensorTrait is not supported on the CPU; " + LISTED,
        ),
        (
            "if constexpr (AscendC::g_coreType == AscendC::AIV) x = nullptr",
            "// known at run time: write if, not if constexpr; see docs/ascend_c.md",
        ),
        (
            "if constexpr (ASCEND_IS_AIC) x = nullptr",
            "// known at run time: write if, not if constexpr; see docs/ascend_c.md",
        ),
        (
            "AscendC::CrossCoreSetFlag<4, PIPE_V>(0)",
            "CrossCoreSetFlag: Atlas A2 has the modes 0, 1 and 2; docs/ascend_c_api.md",
        ),
    ],
)
def test_what_there_is_not_names_itself_and_the_page(
    line: str, message: str, tmp_path: Path
) -> None:
    source = tmp_path / "kernel.cpp"
    source.write_text(KERNEL.format(call=line))
    command = compile_command(source, tmp_path / "kernel.so")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr
    assert f"{source}:5" in done.stderr
