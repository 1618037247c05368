"""Builds the wheel ``custom_pypto``: the library of ``custom_pypto/csrc`` and the converters."""

from __future__ import annotations

from pathlib import Path

import torch
from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension
from torch_npu.utils.cpp_extension import PYTORCH_NPU_INSTALL_PATH, NpuExtension

NPU_INCLUDE = Path(PYTORCH_NPU_INSTALL_PATH) / "include"
TORCH_MAJOR, TORCH_MINOR = torch.__version__.split(".")[:2]

extension = NpuExtension(
    name="custom_pypto.custom_pypto_lib",
    sources=sorted(str(path) for path in Path("custom_pypto/csrc").glob("*.cpp")),
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
    name="custom_pypto",
    version="1.0",
    description="Lightning indexer and sparse attention for Ascend NPUs: eager and graphs",
    packages=find_packages(include=["custom_pypto", "custom_pypto.*"]),
    ext_modules=[extension],
    # A library of operators, not a module of Python: it is loaded, not imported.
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
    python_requires=">=3.10",
)
