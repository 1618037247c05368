"""Builds a sample's library with steps 1 and 3: `python ../setup.py build_ext --build-lib DIR`."""

from pathlib import Path

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension
from torch_npu.utils.cpp_extension import PYTORCH_NPU_INSTALL_PATH, NpuExtension

INCLUDE = Path(PYTORCH_NPU_INSTALL_PATH, "include")
MAJOR, MINOR = torch.__version__.split(".")[:2]

setup(
    name=Path.cwd().name,
    ext_modules=[
        NpuExtension(
            name="my_ops_npu",
            sources=["by_hand/step1_schema/schema.cpp", "by_hand/step3_adapter/adapter.cpp"],
            include_dirs=[
                str(INCLUDE / "third_party" / "op-plugin"),  # EXEC_NPU_CMD_EXT
                str(INCLUDE / "third_party" / "acl" / "inc"),
            ],
            # The version of torch for op-plugin's headers; without it they take the oldest one.
            define_macros=[("CURRENT_VERSION", f"V{MAJOR}R{MINOR}")],
            extra_compile_args=["-O1", "-g0"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
