"""Builds the wheel: add.asc becomes a library by the Ascend C compiler, bisheng."""

import importlib.util
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution


def folder(package):
    """Return where a package is, without importing it."""
    return Path(importlib.util.find_spec(package).origin).parent


class BuildKernel(build_py):
    """Compile the kernel into the package."""

    def run(self):
        super().run()
        target = Path(self.build_lib, "asc_add")
        torch, npu = folder("torch"), folder("torch_npu")
        includes = [torch / "include", torch / "include/torch/csrc/api/include", npu / "include"]
        acl = npu / "include/third_party/acl/inc"
        command = ["bisheng", "--npu-arch=dav-2201", "-shared", "-fPIC", "-std=c++20", "-O3"]
        command += [f"-isystem{each}" for each in [*includes, acl]]
        command += ["asc_add/add.asc", "-o", str(target / "libadd.so")]
        command += [f"-L{torch / 'lib'}", f"-L{npu / 'lib'}", "-ltorch_cpu", "-lc10", "-ltorch_npu"]
        subprocess.run(command, check=True)


class Binary(Distribution):
    """A wheel for one platform."""

    def has_ext_modules(self):
        return True


setup(
    name="asc-add",
    version="1.0.0",
    packages=["asc_add"],
    cmdclass={"build_py": BuildKernel},
    distclass=Binary,
)
