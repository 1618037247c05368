"""Names in a shared library: what it exports, refuses and asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["REFUSED_SECTION", "SharedLibrary", "read_library"]

# Filled by a macro of the native code: the names of functions that exist and answer with an error,
# NUL-separated.
REFUSED_SECTION = ".opwright_refused"

IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
# Version index of a symbol that asks for no version; libc's and libstdc++'s symbols all have
# versions.
UNVERSIONED = ("VER_NDX_LOCAL", "VER_NDX_GLOBAL")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLibrary:
    """Names in a shared library.

    Parameters
    ----------
    exported
        Symbols that it defines.
    imported
        Symbols that it leaves undefined, without those that name a symbol version.
    words
        Identifiers among its string constants: candidates for names that are looked up at run time.
    refused
        Functions that it marks as refused.
    """

    name: str
    exported: frozenset[str]
    imported: frozenset[str]
    words: frozenset[str]
    refused: frozenset[str]


def read_library(path: Path) -> SharedLibrary:
    """Read the facts from an ELF file."""
    exported: set[str] = set()
    imported: set[str] = set()
    words: set[str] = set()
    refused: set[str] = set()
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        versions = elf.get_section_by_name(".gnu.version")
        versioned = versions if isinstance(versions, GNUVerSymSection) else None
        symbols = elf.get_section_by_name(".dynsym")
        if isinstance(symbols, SymbolTableSection):
            for index, symbol in enumerate(symbols.iter_symbols()):
                if symbol["st_shndx"] != "SHN_UNDEF":
                    exported.add(symbol.name)
                elif versioned is None or versioned.get_symbol(index)["ndx"] in UNVERSIONED:
                    imported.add(symbol.name)
        for section in elf.iter_sections():
            if section.name == REFUSED_SECTION:
                refused |= strings(section.data())
            elif section.name.startswith(".rodata"):
                words |= strings(section.data())
    return SharedLibrary(
        name=path.name,
        exported=frozenset(exported - {""}),
        imported=frozenset(imported - {""}),
        words=frozenset(words),
        refused=frozenset(refused),
    )


def strings(data: bytes) -> set[str]:
    """Return the NUL-terminated strings that are identifiers."""
    return {item.decode("ascii") for item in data.split(b"\0") if IDENTIFIER.fullmatch(item)}
