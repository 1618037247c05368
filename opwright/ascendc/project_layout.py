"""The layout of an operator project: op_host, op_kernel, and what its build files say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.ascendc.project_errors import ProjectLayoutError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KernelFile", "KernelOptions", "OperatorProject", "list_files", "read_project"]

SOURCES = (".cpp", ".cc", ".cxx")
DEFAULT_VENDOR = "customize"  # what msOpGen writes
VENDOR = re.compile(r"[A-Za-z0-9_-]+")
LEVELS = 3  # that an operator may lie below the root of its repository
# Sources beside operators that are not part of their host code.
OTHER_FOLDERS = {"build", "build_out", "cmake", "framework", "scripts", "tests", "op_api"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFile:
    """The file with a kernel, where the build names it; for all chips if `chip` is empty."""

    op_type: str
    chip: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    """Options for the kernels of an operator, or of all if `op_type` is empty."""

    op_type: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorProject:
    """An operator project on disk.

    Parameters
    ----------
    host
        Sources of op_host, in order.
    kernels
        Sources and headers below op_kernel.
    vendor
        The folder's name below vendors.
    chips
        What ASCEND_COMPUTE_UNIT lists; empty if the project does not say.
    repository
        Where operators of a repository find what they share: its common/inc, its root, and the
        folders from there to this operator. Empty for a project that stands alone.
    host_options, kernel_options, kernel_files
        What CMake's npu_op_* functions say beyond the layout.
    """

    root: Path
    host: tuple[Path, ...]
    kernels: tuple[Path, ...]
    vendor: str = DEFAULT_VENDOR
    chips: tuple[str, ...] = ()
    repository: tuple[Path, ...] = ()
    host_options: tuple[str, ...] = ()
    kernel_options: tuple[KernelOptions, ...] = ()
    kernel_files: tuple[KernelFile, ...] = ()

    def options_for_kernel(self, op_type: str) -> tuple[str, ...]:
        """Return the options for the kernels of an operator."""
        return tuple(
            option
            for each in self.kernel_options
            if each.op_type in {"", op_type}
            for option in each.options
        )

    def file_of_kernel(self, op_type: str, chip: str) -> str | None:
        """Return the name of the file with an operator's kernel for a chip, if the build has it."""
        names = {each.chip: each.name for each in self.kernel_files if each.op_type == op_type}
        return names.get(chip) or names.get("")


def read_project(root: Path) -> OperatorProject:
    """Read a project's layout.

    Raises
    ------
    ProjectLayoutError
        OPW-A010.
    """
    hosts = part(root, "op_host")
    kernels = part(root, "op_kernel")
    sources = tuple(path for path in hosts if path.suffix in SOURCES)
    if not sources:
        raise ProjectLayoutError(where=str(root), got=f"no C++ source in {root / 'op_host'}")
    presets = root / "CMakePresets.json"
    values = preset_values(presets)
    lists = root / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8", errors="replace") if lists.is_file() else ""
    vendor = (
        values.get("vendor_name")
        or set_value(text, "vendor_name")
        or set_value(text, "package_name")
        or DEFAULT_VENDOR
    )
    if VENDOR.fullmatch(vendor) is None:
        raise ProjectLayoutError(
            where=str(presets if "vendor_name" in values else lists),
            got=f"vendor_name {vendor!r}",
            allowed=("letters, digits, _ and -",),
            fix="give the package a name that can be a folder's",
        )
    return OperatorProject(
        root=root,
        host=sources,
        kernels=kernels,
        vendor=vendor,
        repository=shared_folders(root),
        chips=tuple(
            filter(
                None,
                re.split(
                    r"[;\s]+",
                    values.get("ASCEND_COMPUTE_UNIT") or set_value(text, "ASCEND_COMPUTE_UNIT"),
                ),
            )
        ),
    )


def shared_folders(root: Path) -> tuple[Path, ...]:
    """Return the folders that the operators of a repository such as ops-nn share."""
    above = root.resolve().parents
    for depth, folder in enumerate(above[:LEVELS]):
        if (folder / "common" / "inc").is_dir():
            return (folder / "common" / "inc", *reversed(above[: depth + 1]))
    return ()


def part(root: Path, name: str) -> tuple[Path, ...]:
    """Return the files of op_host or op_kernel of the project, or of each operator in it."""
    folders = [root / name] if (root / name).is_dir() else sorted(root.glob(f"*/{name}"))
    if not folders:
        raise ProjectLayoutError(
            where=str(root), got=f"no folder {name}", allowed=("op_host", "op_kernel")
        )
    return tuple(path for folder in folders for path in list_files(folder, root))


def list_files(folder: Path, root: Path) -> tuple[Path, ...]:
    """Return the files of a folder below `root`, but not those of builds, tests and the like."""
    return tuple(
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not OTHER_FOLDERS.intersection(path.relative_to(root).parts[:-1])
    )


def preset_values(path: Path) -> dict[str, str]:
    """Return the cache variables of the first configuration of CMakePresets.json."""
    if not path.is_file():
        return {}
    try:
        presets = json.loads(path.read_text(encoding="utf-8"))["configurePresets"]
        variables = presets[0]["cacheVariables"]
    except (ValueError, LookupError, TypeError) as error:
        raise ProjectLayoutError(
            where=str(path),
            got=f"{type(error).__name__}: {error}",
            fix="give it configurePresets with cacheVariables, as msOpGen does",
        ) from error
    return {
        name: str(value["value"] if isinstance(value, dict) else value)
        for name, value in variables.items()
    }


def set_value(text: str, name: str) -> str:
    """Return what stands behind NAME in set(NAME value…) of a CMakeLists.txt."""
    match = re.search(rf"^\s*set\s*\(\s*{name}\s+([\w; \"]+)\)", text, re.MULTILINE)
    return match[1].replace('"', "").strip() if match else ""
