"""Make stubs to link libraries with that also run on older systems than the one that builds.

python stubs.py --compiler g++ --readelf readelf --ar ar --output FOLDER

A linker takes each function of the C and C++ libraries at its newest version, although the library
still has older versions of most of them. FOLDER gets a stub for each of these libraries: a shared
library without code that has the same symbols, each at the newest version that the oldest system
has. At run time the real libraries take its place.

What the oldest system lacks altogether comes from an archive, hidden in the library that needs
it: the sources beside this file, and those members of the compiler's static C++ library that define
nothing else. A symbol that neither has keeps its version. The library that uses it then asks for a
newer system, and tools/wheel.py, which proves what a wheel asks for, names the version.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "LIBRARIES",
    "NEWEST",
    "Symbol",
    "Tools",
    "group_by_library",
    "is_allowed",
    "newest_allowed",
]

# The newest version of each family that manylinux_2_28 has, as in auditwheel's policy file.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}

# Libraries, and their names for -l; the loader has none.
LIBRARIES = {
    "libc.so.6": "libc.so",
    "libm.so.6": "libm.so",
    "libstdc++.so.6": "libstdc++.so",
    "libgcc_s.so.1": "libgcc_s.so",
}
# Linker scripts of these names, like the system's own.
SCRIPTS = {
    "libc.so": 'GROUP("{stub}" AS_NEEDED({moved}) "{nonshared}" AS_NEEDED("{loader}"))',
    "libm.so": 'INPUT("{stub}")',
    "libstdc++.so": 'INPUT("{stub}")',
    "libgcc_s.so": 'GROUP("{stub}" -lgcc)',
}
# glibc's libraries are one since 2.34; older ones have these functions in libraries of their own.
MOVED = {
    "libdl.so.2": re.compile(r"dl[a-z]"),
    "libpthread.so.0": re.compile(r"(__)?(pthread|sem|thrd|mtx|cnd|tss)_|call_once$"),
    "librt.so.1": re.compile(r"(aio|lio|mq|shm|timer)_"),
    "libutil.so.1": re.compile(r"(openpty|forkpty|login|logout|logwtmp|login_tty)$"),
}
ARCHIVE = "libopwright_portable.a"
COMPILE = (
    *("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections"),
    *("-Wall", "-Wextra", "-Werror", "-c"),
)
SECTIONS = {"FUNC": ".text", "IFUNC": ".text", "TLS": '.section .tbss,"awT",@nobits'}
ALIGNMENT = 32  # of objects, which a program that is linked for a fixed address copies


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A symbol that a library defines, at one of its versions."""

    name: str
    version: str  # empty: none
    is_default: bool  # the one that linkers take
    kind: str  # FUNC, OBJECT, TLS ...
    size: int  # bytes


def main() -> None:
    """Make the stubs, the linker scripts and the archive."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--readelf", required=True)
    parser.add_argument("--ar", required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    tools = Tools(arguments.compiler, arguments.readelf, arguments.ar)
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)

    # Linkers take these from libgcc.a, a copy for each library, if the stub does not have them.
    in_libgcc = set().union(*tools.members("libgcc.a").values())
    missing: set[str] = set()
    present: set[str] = set()
    for name, link_name in LIBRARIES.items():
        libraries = group_by_library(tools.symbols(tools.library(name)))
        for library, found in libraries.items():
            too_new = {symbol.name for symbol in found if not is_allowed(symbol.version)}
            missing |= too_new
            present |= {symbol.name for symbol in found} - too_new
            symbols = [symbol for symbol in found if symbol.name not in too_new & in_libgcc]
            tools.link_stub(folder, library or name, symbols)
        script = SCRIPTS[link_name].format(
            stub=folder / name,
            moved=" ".join(f'"{folder / library}"' for library in libraries if library),
            nonshared=tools.library("libc_nonshared.a"),
            loader=tools.library(tools.loader()),
        )
        (folder / link_name).write_text(script + "\n", encoding="utf-8")
    tools.archive(folder / ARCHIVE, missing, present)


def is_allowed(version: str) -> bool:
    """Return whether the oldest system has a version; of families without numbers it has all."""
    family, _, number = version.partition("_")
    newest = NEWEST.get(family)
    if newest is None or not re.fullmatch(r"[0-9.]+", number):
        return "PRIVATE" not in version
    return tuple(map(int, number.split("."))) <= newest


def order_of(symbol: Symbol) -> tuple[bool, tuple[int, ...]]:
    """Return the key that sorts versions of a symbol by age; the default one is the newest."""
    return symbol.is_default, tuple(map(int, re.findall("[0-9]+", symbol.version)))


def newest_allowed(versions: list[Symbol]) -> Symbol:
    """Return the version to link with: the newest one of the oldest system, if that has any."""
    allowed = [symbol for symbol in versions if is_allowed(symbol.version)]
    return max(allowed or versions, key=order_of)


def group_by_library(symbols: list[Symbol]) -> dict[str, list[Symbol]]:
    """Return the symbols to link with, by the library that has them in the oldest system.

    The empty name stands for the library in which they were found.
    """
    by_name: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_name.setdefault(symbol.name, []).append(symbol)
    libraries: dict[str, list[Symbol]] = {"": []}
    for name, versions in sorted(by_name.items()):
        chosen = newest_allowed(versions)
        newest = max(versions, key=order_of)
        has_moved = is_allowed(chosen.version) and not is_allowed(newest.version)
        former = (library for library, names in MOVED.items() if has_moved and names.match(name))
        libraries.setdefault(next(former, ""), []).append(chosen)
    return libraries


def assembly(symbols: list[Symbol]) -> str:
    """Return the source of a stub: a place of the right kind and size for each symbol."""
    lines = []
    for symbol in symbols:
        function = symbol.kind in {"FUNC", "IFUNC"}
        kind = {"TLS": "tls_object"}.get(symbol.kind, "function" if function else "object")
        lines += [
            SECTIONS.get(symbol.kind, ".bss"),
            f'.globl "{symbol.name}"',
            f'.type "{symbol.name}", @{kind}',
        ]
        if function:
            lines += [f'"{symbol.name}":']
        else:
            lines += [f".balign {ALIGNMENT}", f'"{symbol.name}": .zero {max(symbol.size, 1)}']
        lines += [f'.size "{symbol.name}", {symbol.size}']
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def version_script(symbols: list[Symbol]) -> str:
    """Return the linker's version script of a stub."""
    nodes: dict[str, list[str]] = {}
    for symbol in symbols:
        nodes.setdefault(symbol.version, []).append(f'"{symbol.name}";')
    return "\n".join(
        f"{version} {{ global: {' '.join(names)} }};" for version, names in sorted(nodes.items())
    )


@dataclass(frozen=True, slots=True)
class Tools:
    """The compiler and its companions."""

    compiler: str
    readelf: str
    ar: str

    def library(self, name: str) -> Path:
        """Return where the compiler finds a library; its bare name if it has none."""
        return Path(self.run(self.compiler, f"-print-file-name={name}").strip())

    def loader(self) -> str:
        """Return the name of the loader that the compiler's programs ask for."""
        command = [self.compiler, "-###", "-x", "c++", "/dev/null"]
        shown = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr
        named = re.search(r"-dynamic-linker\W+([^\s\"]+)", shown)
        if named is None:
            message = f"{self.compiler} names no loader that programs are linked for:\n{shown}"
            raise LookupError(message)
        return Path(named.group(1)).name

    def symbols(self, library: Path) -> list[Symbol]:
        """Return the versions of the symbols that a shared library defines."""
        rows = self.run(self.readelf, "--dyn-syms", "--wide", library).splitlines()
        found = []
        for row in map(str.split, rows):
            match row:
                case [number, _, size, kind, "GLOBAL" | "WEAK" | "UNIQUE", _, index, name] if (
                    number[0].isdigit() and index not in {"UND", "ABS"} and "@" in name
                ):
                    base, separator, version = re.split("(@@?)", name, maxsplit=1)
                    found.append(
                        Symbol(
                            name=base,
                            version=version,
                            is_default=separator == "@@",
                            kind=kind,
                            size=int(size, 0),
                        )
                    )
        return [symbol for symbol in found if "PRIVATE" not in symbol.version]

    def members(self, name: str) -> dict[str, set[str]]:
        """Return the symbols that each member of a static library defines, without the weak ones.

        Empty where the library is not installed.
        """
        library = self.library(name)
        members: dict[str, set[str]] = {}
        current = ""
        if not library.is_absolute():
            return members
        for line in self.run(self.readelf, "--syms", "--wide", library).splitlines():
            match line.split():
                case ["File:", member]:
                    current = member.rpartition("(")[2].rstrip(")")
                case [number, _, _, kind, "GLOBAL", _, index, symbol] if (
                    number.endswith(":") and kind != "FILE" and index != "UND"
                ):
                    members.setdefault(current, set()).add(symbol)
        return members

    def archive(self, archive: Path, missing: set[str], present: set[str]) -> None:
        """Make the archive of the symbols that the oldest system lacks.

        Members of the static C++ library that also define symbols of the shared one are left out:
        the process would have two copies of these, and a locale finds a facet by the address of
        its identifier.
        """
        wanted = sorted(
            name
            for name, defined in self.members("libstdc++.a").items()
            if defined & missing and not defined & present
        )
        if wanted:
            static = self.library("libstdc++.a")
            self.run(self.ar, "x", "--output", archive.parent, static, *wanted)
        objects = [archive.parent / name for name in wanted]
        for source in sorted(Path(__file__).parent.glob("*.cpp")):
            objects.append(archive.parent / f"opwright_{source.stem}.o")
            self.run(self.compiler, *COMPILE, source, "-o", objects[-1])
        fresh = archive.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        self.run(self.ar, "crsD", fresh, *objects)
        if archive.exists() and archive.read_bytes() == fresh.read_bytes():
            objects.append(fresh)  # nothing is linked anew
        else:
            fresh.replace(archive)
        for path in objects:
            path.unlink()

    def link_stub(self, folder: Path, name: str, symbols: list[Symbol]) -> None:
        """Link a stub with the symbols of a library."""
        source, versions = folder / f"{name}.s", folder / f"{name}.map"
        source.write_text(assembly(symbols), encoding="utf-8")
        versions.write_text(version_script(symbols), encoding="utf-8")
        self.run(
            self.compiler,
            *("-shared", "-nostdlib", f"-Wl,-soname,{name}", f"-Wl,--version-script,{versions}"),
            *("-x", "assembler", source, "-o", folder / name),
        )

    @staticmethod
    def run(*command: str | Path) -> str:
        """Run a program and return its output."""
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout


if __name__ == "__main__":
    main()
