"""The names under which kernels include parts of Ascend C stand for all of it, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.ascendc import kernels

if TYPE_CHECKING:
    from pathlib import Path

NAMES = sorted(
    str(path.relative_to(kernels.HEADERS))
    for folder in ("", "basic_api", "adv_api", "lib")
    for path in (
        (kernels.HEADERS / folder).rglob("*.h") if folder else kernels.HEADERS.glob("kernel_*.h")
    )
)


def test_kernels_include_them_in_any_order(tmp_path: Path) -> None:
    assert {"lib/math/kernel_operator_cos_intf.h", "adv_api/math/sin.h"} <= {*NAMES}
    source = tmp_path / "names.cpp"
    lines = [f'#include "{name}"' for name in (*NAMES, "lib/matmul_intf.h")]
    body = "AscendC::LocalTensor<float> y, x; if (false) AscendC::Cos(y, x, 8);"
    kernel = f'extern "C" __global__ __aicore__ void names(GM_ADDR) {{ {body} }}'
    source.write_text("\n".join([*lines, kernel, ""]))
    assert kernels.compile_kernel(source).exists()
