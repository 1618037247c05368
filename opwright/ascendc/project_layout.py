"""The layout of an operator project: op_host, op_kernel, and what its build files say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.ascendc.project_errors import ProjectLayoutError

if TYPE_CHECKING:
    from pathlib import PurePath

__all__ = ["KernelFile", "KernelOptions", "OperatorProject", "list_files", "read_project"]

SOURCES = (".cpp", ".cc", ".cxx")
DEFAULT_VENDOR = "customize"  # what msOpGen writes
VENDOR = re.compile(r"[A-Za-z0-9_-]+")
DEPENDENCIES = re.compile(r"\bDEPENDENCIES((?:\s+[a-z_0-9.]+)+)")
INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](?:[^">\n]*/)?(\w+)\.h[">]', re.MULTILINE)
# Endings of sources that define operators, and of those for the AI CPU.
OTHER_CODE = ("_def", "_aicpu")
LEVELS = 3  # that an operator may lie below the root of its repository
# Sources beside operators that are not part of their host code.
OTHER_FOLDERS = {"build", "build_out", "cmake", "framework", "scripts", "tests", "op_api"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFile:
    """The file with a kernel, where the build names it; for all chips if `chip` is empty.

    Parameters
    ----------
    path
        Its name, or a path that ends with it: `arch22/add.cpp` is not `arch35/add.cpp`.
    """

    op_type: str
    chip: str
    path: PurePath

    def is_at(self, file: Path) -> bool:
        """Return whether it is this file of the project."""
        return file.parts[-len(self.path.parts) :] == self.path.parts


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    """Options for the kernels of an operator, or of all if `op_type` is empty.

    Parameters
    ----------
    chips
        The chips for whose kernels they hold; empty for all.
    """

    op_type: str
    options: tuple[str, ...]
    chips: tuple[str, ...] = ()


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
        Where operators of a repository find what they share: its common/inc, its root, the folders
        from there to this operator, common/inc/op_host. Empty for a project that stands alone.
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

    def options_for_kernel(self, op_type: str, chip: str) -> tuple[str, ...]:
        """Return the options for an operator's kernels for a chip."""
        return tuple(
            option
            for each in self.kernel_options
            if each.op_type in {"", op_type} and chip in (each.chips or (chip,))
            for option in each.options
        )

    def file_of_kernel(self, op_type: str, chip: str) -> KernelFile | None:
        """Return the file with an operator's kernel for a chip, if the build names it."""
        files = {each.chip: each for each in self.kernel_files if each.op_type == op_type}
        return files.get(chip) or files.get("")


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
    shared = shared_folders(root)
    if shared:
        sources = with_shared_sources((*sources, *dependencies(root, shared[1])), shared[0])
    return OperatorProject(
        root=root,
        host=sources,
        kernels=kernels,
        vendor=vendor,
        repository=shared,
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
            shared = folder / "common" / "inc"
            host = (shared / "op_host",) if (shared / "op_host").is_dir() else ()
            return (shared, *reversed(above[: depth + 1]), *host)
    return ()


def dependencies(root: Path, repository: Path) -> tuple[Path, ...]:
    """Return the host sources of the operators on which this one depends.

    `DEPENDENCIES foreach_utils` in an operator's CMakeLists.txt stands for the tiling and inference
    functions in `*/foreach_utils/op_host`, `matmul.common` for those in `matmul/common/op_host`;
    the definitions there are other operators.

    Raises
    ------
    ProjectLayoutError
        OPW-A010: the repository has no folder of that name.
    """
    lists = [root / "CMakeLists.txt", root / "op_host" / "CMakeLists.txt"]
    found: list[Path] = []
    seen = {root.name}
    for path in filter(Path.is_file, lists):
        text = path.read_text(encoding="utf-8", errors="replace")
        for name in (name for words in DEPENDENCIES.findall(text) for name in words.split()):
            if name not in seen:
                seen.add(name)
                found += sources_of_dependency(name, repository, where=str(path))
    return tuple(found)


def sources_of_dependency(name: str, repository: Path, *, where: str) -> list[Path]:
    """Return the host sources of one operator of the repository, without its definition."""
    place = name.replace(".", "/")
    folders = [
        folder
        for depth in range(LEVELS)
        for folder in sorted(repository.glob("*/" * depth + place))
        if folder.is_dir()
    ]
    if not folders:
        raise ProjectLayoutError(
            where=where,
            got=f"DEPENDENCIES {name}, and {repository} has no folder {place}",
            fix="correct the name, or take the whole repository",
        )
    return [
        path
        for folder in folders
        for path in list_files(folder / "op_host", folder / "op_host")
        if path.suffix in SOURCES and not path.stem.endswith(OTHER_CODE)
    ]


def with_shared_sources(sources: tuple[Path, ...], shared: Path) -> tuple[Path, ...]:
    """Add the repository's sources whose headers these include.

    The functions of `common/inc/op_host/x.h` are in `common/src/op_host/x.cpp`.
    """
    left = {path.stem: path for path in (shared.parent / "src" / "op_host").glob("*.cpp")}
    found = list(sources)
    if not left:
        return sources
    for path in found:  # which grows
        headers = [shared / "op_host" / f"{path.stem}.h", *sorted(path.parent.glob("*.h"))]
        for file in (path, *(header for header in headers if header.is_file())):
            names = INCLUDED.findall(file.read_text(encoding="utf-8", errors="replace"))
            found += [left.pop(name) for name in dict.fromkeys(names) if name in left]
    return tuple(found)


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
