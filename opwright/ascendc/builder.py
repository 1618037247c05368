"""An operator project -> an operator package, laid out as the vendor's build lays it out.

vendors/NAME/
op_api/include/aclnn_*.h             op_api/lib/libcust_opapi.so
op_proto/inc/op_proto.h              op_proto/lib/linux/MACHINE/libcust_opsproto_rt2.0.so
op_impl/ai_core/tbe/op_tiling/…      tiling and inference: libcust_opmaster_rt2.0.so
op_impl/ai_core/tbe/kernel/CHIP/…    a library for each operator and column of dtypes
signatures.txt                       the aclnn functions
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.aclnn.prototype import derive
from opwright.aclnn.reg_op import snake_case
from opwright.ascendc.compilation import Compilation, compile_all
from opwright.ascendc.description import describe
from opwright.ascendc.emit_package import emit_api, emit_headers, emit_prototypes
from opwright.ascendc.kernel_source import (
    depends_on_column,
    emit_kernel,
    find_kernel,
    read_texts,
)
from opwright.ascendc.project_errors import ChipError, HostCodeError, KernelCodeError
from opwright.ascendc.siblings import link_siblings
from opwright.ascendc.toolchain import (
    COMPILING,
    MACHINE,
    interface_number,
    list_include_options,
    list_link_options,
)
from opwright.lock import hold_lock
from opwright.twin.user_kernels.library import SIGNATURES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.ascendc.description import Column, HostDescription, HostOperator
    from opwright.ascendc.kernel_source import KernelSource
    from opwright.ascendc.project_layout import OperatorProject
    from opwright.twin.toolkit import Toolkit

__all__ = ["Package", "build_package"]

OPMASTER_LIBRARY = f"lib/linux/{MACHINE}/libcust_opmaster_rt2.0.so"
HOST_LIBRARY = f"op_impl/ai_core/tbe/op_tiling/{OPMASTER_LIBRARY}"
# The same code under the names by which the vendor's runtime looks for its parts.
HOST_LINKS = {
    "op_impl/ai_core/tbe/op_tiling/liboptiling.so": OPMASTER_LIBRARY,
    f"op_proto/lib/linux/{MACHINE}/libcust_opsproto_rt2.0.so": f"../../../../{HOST_LIBRARY}",
}
KERNELS = "op_impl/ai_core/tbe/kernel"
API_LIBRARY = "op_api/lib/libcust_opapi.so"
INDEX = "kernels.tsv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that was built.

    Parameters
    ----------
    folder
        What ASCEND_CUSTOM_OPP_PATH names.
    operators
        Types of operators.
    kernels, compiled
        Libraries of kernels, and how many of all outputs had to be compiled.
    """

    folder: Path
    operators: tuple[str, ...]
    kernels: int
    compiled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel to be compiled, and the columns of chips that it serves."""

    compilation: Compilation
    file: str
    served: tuple[tuple[str, str], ...]


class Builder:
    """The steps of a build.

    Parameters
    ----------
    work
        Folder for what is only needed by the next build.
    """

    def __init__(
        self, project: OperatorProject, toolkit: Toolkit, folder: Path, work: Path, jobs: int
    ) -> None:
        self.project = project
        self.toolkit = toolkit
        self.folder = folder
        self.work = work
        self.jobs = jobs
        self.compiled = 0

    def run(self, chips: tuple[str, ...]) -> Package:
        """Build the package."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.build_host()
        description = describe(self.folder / HOST_LIBRARY, self.toolkit)
        if not description.operators:
            raise HostCodeError(
                where=str(self.project.root / "op_host"),
                got="no operator",
                fix="register the class of each operator with OP_ADD(Class)",
            )
        kernels = list(self.kernels(description, chips))
        self.compiled += compile_all([kernel.compilation for kernel in kernels], self.jobs)
        self.write_index(description, kernels)
        self.build_api(description)
        return Package(
            folder=self.folder,
            operators=tuple(op.prototype.op_type for op in description.operators),
            kernels=len(kernels),
            compiled=self.compiled,
        )

    def host_includes(self) -> list[str]:
        """Return the include options of host code."""
        root = self.toolkit.root / "include"
        own = {path.parent for path in (*self.project.host, *self.project.kernels)}
        folders = [self.project.root, *sorted(own), *self.project.repository]
        return [
            *(f"-I{folder}" for folder in folders),
            *("-isystem", str(root / "ascendc" / "host"), "-isystem", str(root)),
        ]

    def build_host(self) -> None:
        """Compile op_host and link it."""
        objects = []
        for source in self.project.host:
            place = os.path.relpath(source, self.project.root)  # a sibling's begins with ..
            parts = ("beside" if part == ".." else part for part in Path(place).parts)
            name = Path(*parts).with_suffix(".o")
            options = ["-std=c++17", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-c"]
            # As the vendor's build says which of the two libraries it makes; ours is both.
            options += ["-DOP_TILING_LIB", *self.project.host_options]
            options += [*self.host_includes(), str(source)]
            objects.append(
                Compilation(
                    what=str(source),
                    options=tuple(options),
                    output=self.work / "host" / name,
                    error=HostCodeError,
                )
            )
        self.compiled += compile_all(objects, self.jobs)
        libraries = self.toolkit.libraries
        link = Compilation(
            what="the host code",
            options=(
                *("-shared", "-Wl,-z,defs", "-Wl,-Bsymbolic"),
                *(str(each.output) for each in objects),
                *(f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lascendc_package", "-lascendcl"),
                "-Wl,--allow-shlib-undefined",
            ),
            output=self.work / "libcust_opmaster_rt2.0.so",
            error=HostCodeError,
            inputs=tuple(each.output for each in objects),
        )
        self.compiled += compile_all([link], 1)
        self.place(link.output, HOST_LIBRARY)
        for alias, target in HOST_LINKS.items():
            link_file = self.folder / alias
            link_file.parent.mkdir(parents=True, exist_ok=True)
            link_file.unlink(missing_ok=True)
            link_file.symlink_to(target)

    def kernels(self, description: HostDescription, chips: tuple[str, ...]) -> Iterator[Kernel]:
        """Yield the kernels: one for all columns of an operator whose source names no dtype."""
        for op in description.operators:
            sources: dict[tuple[KernelSource, tuple[str, ...]], list[str]] = {}
            for chip in self.chips_of(op, chips):
                options = self.project.options_for_kernel(op.prototype.op_type, chip)
                found = find_kernel(self.project, op, chip)
                sources.setdefault((found, options), []).append(chip)
            number = count()
            for (found, _), wanted in sources.items():
                columns: dict[str, Column] = {}
                for chip in wanted:
                    columns |= {column.name: column for column in op.chips[chip]}
                groups = [[column] for column in columns.values()]
                if not depends_on_column(read_texts(found.file, self.kernel_folders())):
                    groups = [list(columns.values())]
                for group in groups:
                    yield self.kernel(op, found, next(number), group, wanted, description)

    def kernel_folders(self) -> list[Path]:
        """Return the folders in which kernels find what they include."""
        own = sorted({path.parent for path in self.project.kernels})
        beside = link_siblings(self.project, self.work / "siblings")
        return [*own, *beside, *self.project.repository]

    def chips_of(self, op: HostOperator, chips: tuple[str, ...]) -> tuple[str, ...]:
        """Return the chips for which an operator's kernels are compiled."""
        asked = chips or self.project.chips or tuple(op.chips)
        wanted = tuple(chip for chip in op.chips if chip in asked)
        if not wanted:
            raise ChipError(
                where=f"class {op.prototype.op_type}",
                got=", ".join(asked),
                allowed=sorted(op.chips),
            )
        return wanted

    def kernel(
        self,
        op: HostOperator,
        found: KernelSource,
        number: int,
        columns: Sequence[Column],
        chips: Sequence[str],
        description: HostDescription,
    ) -> Kernel:
        """Write the source of one kernel and say how it is compiled."""
        op_type = op.prototype.op_type
        text = emit_kernel(op, found, columns[0], description.tiling)
        name = f"{op_type}_{number}"
        source = self.work / "kernels" / f"{name}.cpp"
        write_text(source, text)
        names = {column.name for column in columns}
        return Kernel(
            compilation=Compilation(
                what=f"{found.file}, {found.function} for {columns[0].name}",
                options=(
                    *COMPILING,
                    *("-shared", "-fPIC", "-fvisibility=hidden"),
                    *(f"-I{folder}" for folder in self.kernel_folders()),
                    *list_include_options(self.toolkit),
                    *self.project.options_for_kernel(op_type, chips[0]),
                    str(source),
                    *list_link_options(self.toolkit),
                    f"-Wl,-rpath,{self.toolkit.libraries}",
                ),
                output=self.work / "kernels" / f"{name}.so",
                error=KernelCodeError,
            ),
            file=f"{snake_case(op_type)}/{name}.so",
            served=tuple(
                (chip, column.name)
                for chip in chips
                for column in op.chips[chip]
                if column.name in names
            ),
        )

    def write_index(self, description: HostDescription, kernels: Sequence[Kernel]) -> None:
        """Put the kernels into the package, and the list by which they are found."""
        shutil.rmtree(self.folder / KERNELS, ignore_errors=True)  # of an earlier build
        types = {
            snake_case(op.prototype.op_type): op.prototype.op_type for op in description.operators
        }
        lines = [f"# {interface_number(self.toolkit)}\n"]
        for kernel in kernels:
            op_type = types[kernel.file.partition("/")[0]]
            placed: set[str] = set()
            for chip, column in kernel.served:
                file = f"{chip}/{kernel.file}"
                if chip not in placed:
                    self.place(kernel.compilation.output, f"{KERNELS}/{file}")
                    placed.add(chip)
                lines.append(f"{chip}\t{op_type}\t{column}\t{file}\n")
        write_text(self.folder / KERNELS / INDEX, "".join(lines))

    def build_api(self, description: HostDescription) -> None:
        """Write headers, prototypes and signatures; compile the aclnn functions."""
        prototypes = [op.prototype for op in description.operators]
        headers = emit_headers(prototypes)
        for old in (self.folder / "op_api" / "include").glob("aclnn_*.h"):
            if old.name not in headers:  # of an operator that is no more
                old.unlink()
        for name, text in headers.items():
            write_text(self.folder / "op_api" / "include" / name, text)
        write_text(self.folder / "op_proto" / "inc" / "op_proto.h", emit_prototypes(prototypes))
        functions = [signature for each in prototypes for signature in derive(each).functions]
        write_text(self.folder / SIGNATURES, "".join(f"{each}\n" for each in functions))
        source = self.work / "opapi.cpp"
        write_text(source, emit_api(prototypes))
        include = self.toolkit.root / "include"
        libraries = self.toolkit.libraries
        compilation = Compilation(
            what="the aclnn functions",
            options=(
                *("-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs"),
                *("-isystem", str(include), "-isystem", str(include / "opwright"), str(source)),
                *(f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lascendc_package"),
                *("-lnnopbase", "-lascendcl", "-Wl,--allow-shlib-undefined"),
            ),
            output=self.work / "libcust_opapi.so",
            error=HostCodeError,
        )
        self.compiled += compile_all([compilation], 1)
        self.place(compilation.output, API_LIBRARY)

    def place(self, file: Path, name: str) -> None:
        """Copy a file into the package; a process that has the old one loaded keeps it."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(target.name + ".new")
        shutil.copy2(file, new)
        new.replace(target)


def write_text(path: Path, text: str) -> None:
    """Write a file if its content differs."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def build_package(
    project: OperatorProject,
    toolkit: Toolkit,
    out: Path,
    *,
    chips: tuple[str, ...] = (),
    jobs: int = 1,
) -> Package:
    """Build a project into OUT/vendors/NAME.

    Raises
    ------
    HostCodeError, KernelSourceError, KernelCodeError, ChipError
        OPW-A011, OPW-A012, OPW-A013, OPW-A014.
    """
    folder = out / "vendors" / project.vendor
    work = (out / "work").absolute()
    work.mkdir(parents=True, exist_ok=True)
    with hold_lock(work):  # two builds at a time would write the same files
        return Builder(project, toolkit, folder.absolute(), work, jobs).run(chips)
