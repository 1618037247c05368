"""Builds the C++ library into the package: `pip wheel . --no-build-isolation`.

torch and torch_npu have to be installed and are not imported. CXX names the compiler, CXXFLAGS adds
options, MAX_JOBS limits how many units are compiled at a time. Two builds give the same library.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup  # type: ignore[import-untyped]
from setuptools.command.bdist_wheel import bdist_wheel  # type: ignore[import-untyped]
from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent
METADATA = json.loads(next(ROOT.glob("*/metadata.json")).read_text(encoding="utf-8"))

COMPILE = (
    *("-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"),
    *("-DAT_PER_OPERATOR_HEADERS", "-Wall", "-Wextra"),
)
LINK = ("-shared", "-Wl,--strip-all", "-Wl,--build-id=none")
# torch and torch_npu are loaded before the library, so it needs no path to them. libstdc++ comes
# first: some builds of torch export functions of it, bound to no version.
CLASSIC = ("-lstdc++", "-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_npu")
STABLE = ("-lstdc++", "-ltorch", "-ltorch_cpu")

# The archive's times.
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")


def package_folder(name: str) -> Path | None:
    """Return where a package is installed."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def required(name: str) -> Path:
    """Return where a package is that the build needs."""
    folder = package_folder(name)
    if folder is None:
        message = f"this build needs {name}: pip install {name}=={METADATA['built_for']}.*"
        raise SystemExit(message)
    return folder


def cxx_standard(torch: Path) -> str:
    """Return the standard that torch's headers ask for, or C++17, which compiles faster."""
    guards = re.findall(r"__cplusplus < (\d+)L", (torch / "include/ATen/ATen.h").read_text("utf-8"))
    asked = max(map(int, guards), default=0)
    standards = {201703: "c++17", 202002: "c++20"}
    return next((name for value, name in standards.items() if value >= asked), "c++23")


class BuildLibrary(build_ext):  # type: ignore[misc]  # setuptools has no types
    """Compiles all units at a time and links them."""

    def run(self) -> None:
        """Make the library."""
        torch = required("torch")
        compiler = shlex.split(os.environ.get("CXX", "g++"))
        objects = Path(self.build_temp)
        objects.mkdir(parents=True, exist_ok=True)
        includes = [torch / "include", torch / "include/torch/csrc/api/include"]
        flags = [
            f"-std={cxx_standard(torch)}",
            *COMPILE,
            *shlex.split(os.environ.get("CXXFLAGS", "")),
            *(f"-isystem{folder}" for folder in includes),
            f"-ffile-prefix-map={torch}=torch",
            f"-ffile-prefix-map={ROOT}=.",
        ]

        def compile_unit(source: Path) -> str:
            target = objects / f"{source.stem}.o"
            subprocess.run([*compiler, *flags, "-c", str(source), "-o", str(target)], check=True)
            return str(target)

        jobs = int(os.environ.get("MAX_JOBS", "0")) or os.cpu_count() or 1
        with ThreadPoolExecutor(jobs) as pool:
            units = list(pool.map(compile_unit, sorted((ROOT / "csrc").glob("*.cpp"))))
        folders = [torch / "lib"]
        if not METADATA["stable_abi"]:
            folders.append(required("torch_npu") / "lib")
        libraries = STABLE if METADATA["stable_abi"] else CLASSIC
        base = ROOT if self.inplace else Path(self.build_lib)
        target = base / METADATA["name"] / METADATA["library"]
        target.parent.mkdir(parents=True, exist_ok=True)
        search = [f"-L{folder}" for folder in folders]
        subprocess.run(
            [*compiler, *LINK, "-o", str(target), *units, *search, *libraries], check=True
        )

    def get_outputs(self) -> list[str]:
        """Return what is made."""
        return [str(Path(self.build_lib) / METADATA["name"] / METADATA["library"])]


class LibraryWheel(bdist_wheel):  # type: ignore[misc]  # as above
    """The tag: any Python with the stable ABI, else this one, as torch's own wheel."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return Python, ABI and platform."""
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if METADATA["stable_abi"]:
            return "py3", "none", platform
        python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
        return python, python, platform


setup(
    ext_modules=[Extension(f"{METADATA['name']}.library", [])],
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": LibraryWheel},
)
