"""Operator projects that CMake describes with npu_op_package and its companions.

share/cmake/ASC/OperatorPackage.cmake of the toolkit writes a list, one value a line behind a key
and a tab, and runs this module as a program: the build is that of `opwright ascendc build`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.ascendc.builder import build_package
from opwright.ascendc.options import parse_options
from opwright.ascendc.project_errors import ProjectLayoutError
from opwright.ascendc.project_layout import (
    KernelFile,
    KernelOptions,
    OperatorProject,
    list_files,
)
from opwright.ascendc.run_file import write_run_file
from opwright.ascendc.toolchain import cores
from opwright.errors import OpwrightError
from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "read_list"]

# Options of the vendor's build that keep intermediate files.
WITHOUT_MEANING = {"--save-temp-files"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the package of a list; return 1 if that fails, with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m opwright.ascendc.cmake_project")
    parser.add_argument("list", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--run-file", type=Path)
    given = parser.parse_args(arguments)
    try:
        project = read_list(given.list)
        package = build_package(project, installed_toolkit(), given.out, jobs=cores())
        if given.run_file is not None:
            write_run_file(package.folder, given.run_file)
    except (OpwrightError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{', '.join(package.operators)}: {package.kernels} kernels\n")
    return 0


def read_list(path: Path) -> OperatorProject:
    """Read a project from the list that CMake wrote.

    Raises
    ------
    ProjectLayoutError, CompilerOptionError
        OPW-A010, OPW-A002.
    """
    values: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("\t")
        if value:
            values.setdefault(key, []).append(value)
    hosts = [Path(value) for value in dict.fromkeys(values.get("host", []))]
    absent = [str(host) for host in hosts if not host.is_file()]
    if absent or not hosts:
        raise ProjectLayoutError(
            where="npu_op_library and npu_op_code_gen",
            got=f"no file {absent[0]}" if absent else "no host code",
            fix="give the operators' definitions and tiling functions to npu_op_code_gen",
        )
    bases = [Path(value).resolve() for value in values.get("base", [])]
    builds = [Path(value).resolve() for value in values.get("build", [])]
    kernels = (file for base in bases for file in list_files(base, base))
    vendor = values["vendor"][0]
    return OperatorProject(
        root=Path(os.path.commonpath([host.parent for host in hosts])),
        host=tuple(hosts),
        kernels=tuple(
            file
            for file in dict.fromkeys(kernels)
            if not any(build in file.parents for build in builds)
        ),
        vendor=vendor,
        chips=tuple(values.get("chip", [])),
        host_options=tuple(values.get("host_option", [])),
        kernel_options=tuple(map(kernel_options, values.get("kernel_option", []))),
        kernel_files=tuple(map(kernel_file, values.get("kernel_file", []))),
    )


def kernel_file(value: str) -> KernelFile:
    """Return the file of `TYPE|CHIP|PATH`."""
    op_type, chip, path = value.split("|")
    return KernelFile(op_type=op_type, chip=chip.lower(), path=Path(os.path.normpath(path)))


def kernel_options(value: str) -> KernelOptions:
    """Return the options of `TYPE|CHIP,CHIP…|OPTION|OPTION…`; TYPE and CHIP are empty for all."""
    op_type, chips, *words = value.split("|")
    request = parse_options([word for word in words if word not in WITHOUT_MEANING])
    return KernelOptions(
        op_type=op_type,
        options=tuple(request.compiling),
        chips=tuple(filter(None, chips.lower().split(","))),
    )


if __name__ == "__main__":
    sys.exit(main())
