"""Proof that a library uses only libtorch's stable ABI: the symbols that it leaves to others.

Allowed are the C functions of the stable ABI, and the C and C++ runtime, whose symbols the linker
binds to a version. Names in C++ of c10, at, torch or torch_npu are what changes from one version of
torch to the next.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from opwright.kit.packaging.errors import SymbolsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["Needed", "check_stable", "read_needed_libraries", "read_needed_symbols"]

STABLE = re.compile(r"(?:aoti_torch|torch)_\w+")
RUNTIME = re.compile(r"(?:GLIBC|GLIBCXX|CXXABI|GCC|LIBC)_")
# Weak, and bound to no version: the compiler's start-up code asks for them.
STARTUP = frozenset(
    {"__cxa_finalize", "__gmon_start__"}
    | {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
)
# Libraries that exist wherever torch does; libtorch_npu is not among them.
LIBRARIES = re.compile(
    r"(?:libtorch|libtorch_cpu|libstdc\+\+|libgcc_s|libc|libm|libdl|libpthread|librt|ld-linux.*)\.so"
)


@dataclass(frozen=True, slots=True)
class Needed:
    """A symbol that a library leaves to others, and the version that it is bound to."""

    name: str
    version: str | None

    @property
    def is_stable(self) -> bool:
        """Whether it is of the stable ABI or of the C and C++ runtime."""
        if self.version is not None:
            return RUNTIME.match(self.version) is not None
        return STABLE.fullmatch(self.name) is not None or self.name in STARTUP


def read_needed_symbols(library: Path) -> tuple[Needed, ...]:
    """Return the undefined dynamic symbols, sorted."""
    with library.open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym")
        assert isinstance(symbols, SymbolTableSection), library
        versions = elf.get_section_by_name(".gnu.version")
        names = version_names(elf)
        result = []
        for index, symbol in enumerate(symbols.iter_symbols()):
            if not symbol.name or symbol["st_shndx"] != "SHN_UNDEF":
                continue
            version = None
            if isinstance(versions, GNUVerSymSection):
                version = names.get(versions.get_symbol(index)["ndx"])
            result.append(Needed(symbol.name, version))
    return tuple(sorted(result, key=lambda each: each.name))


def version_names(elf: ELFFile) -> dict[int, str]:
    """Return the versions that symbols may be bound to, by index."""
    section = elf.get_section_by_name(".gnu.version_r")
    if not isinstance(section, GNUVerNeedSection):
        return {}
    return {
        entry["vna_other"]: entry.name
        for _, entries in section.iter_versions()
        for entry in entries
    }


def read_needed_libraries(library: Path) -> tuple[str, ...]:
    """Return the libraries that are loaded with it."""
    with library.open("rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection), library
        return tuple(str(vars(tag)["needed"]) for tag in dynamic.iter_tags("DT_NEEDED"))


def check_stable(library: Path, name: str) -> None:
    """Raise unless a library uses only the stable ABI.

    Parameters
    ----------
    name
        What the library is called in the message.

    Raises
    ------
    SymbolsError
        OPW-B016, with all symbols that are not of it.
    """
    symbols = [each.name for each in read_needed_symbols(library) if not each.is_stable]
    others = [each for each in read_needed_libraries(library) if not LIBRARIES.match(each)]
    if symbols or others:
        found = [*demangle(symbols), *(f"the library {each}" for each in others)]
        raise SymbolsError(
            where=name,
            got=f"{len(found)} that are not of it:\n" + "\n".join(f"    {each}" for each in found),
        )


def demangle(names: Sequence[str]) -> Iterable[str]:
    """Return names of C++ as a person reads them, where the tool for that is installed."""
    program = shutil.which("c++filt")
    if program is None or not names:
        return names
    result = subprocess.run(
        [program], input="\n".join(names), capture_output=True, text=True, check=False, timeout=60
    )
    return result.stdout.splitlines() if result.returncode == 0 else names
