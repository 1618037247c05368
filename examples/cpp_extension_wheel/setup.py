"""Builds the wheel ``custom_ops``: a C++ extension and the Python API on top of it."""

from __future__ import annotations

from pathlib import Path

import torch
from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension
from torch_npu.utils.cpp_extension import PYTORCH_NPU_INSTALL_PATH, NpuExtension

NPU_INCLUDE = Path(PYTORCH_NPU_INSTALL_PATH) / "include"
TORCH_MAJOR, TORCH_MINOR = torch.__version__.split(".")[:2]

extension = NpuExtension(
    name="custom_ops_lib",
    sources=sorted(str(path) for path in Path("csrc").glob("*.cpp")),
    include_dirs=[
        # EXEC_NPU_CMD_EXT lives here; NpuExtension adds torch_npu's own headers only.
        str(NPU_INCLUDE / "third_party" / "op-plugin"),
        str(NPU_INCLUDE / "third_party" / "acl" / "inc"),
    ],
    define_macros=[
        # op-plugin's headers ask for the version of torch that they are compiled with, and take
        # the oldest one if it is not given: they then include headers that torch 2.13 removed.
        ("CURRENT_VERSION", f"V{TORCH_MAJOR}R{TORCH_MINOR}"),
    ],
    # Python's own flags ask for debug information, which a wheel has no use for.
    extra_compile_args=["-O2", "-g0"],
)

setup(
    name="custom_ops",
    version="1.0",
    description="An AddCustom operator for Ascend NPUs: eager, autograd, Meta and graphs",
    packages=find_packages(include=["custom_ops"]),
    ext_modules=[extension],
    cmdclass={"build_ext": BuildExtension},
    python_requires=">=3.10",
)
