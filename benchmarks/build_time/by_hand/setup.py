"""Builds the operator that is written by hand, with torch_npu's own extension classes."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup  # type: ignore[import-untyped]
from torch.utils.cpp_extension import BuildExtension
from torch_npu.utils.cpp_extension import PYTORCH_NPU_INSTALL_PATH, NpuExtension

THIRD_PARTY = Path(PYTORCH_NPU_INSTALL_PATH) / "include" / "third_party"

setup(
    name="scale-add-by-hand",
    version="1.0",
    ext_modules=[
        NpuExtension(
            name="scale_add_by_hand",
            sources=["scale_add.cpp"],
            include_dirs=[str(THIRD_PARTY / "op-plugin"), str(THIRD_PARTY / "acl" / "inc")],
            define_macros=[("CURRENT_VERSION", "V2R13")],
            extra_compile_args=["-O2", "-g0"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
