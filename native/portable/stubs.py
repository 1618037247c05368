"""Make what libraries are linked with so that they run on older systems than the one that builds.

python stubs.py --compiler g++ --readelf readelf --ar ar --output FOLDER

A linker takes each function of the C and C++ libraries at its newest version, although most of the
functions that have got a newer one are there in an older one, too. The folder gets a stub for each
of these libraries: a shared library without code that has the same symbols, each at the newest
version that the oldest system has. At run time the real libraries take its place.

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

__all__ = ["LIBRARIES", "NEWEST", "Symbol", "Tools", "homes_of", "is_allowed", "newest_allowed"]

# What manylinux_2_28 has of each family of versions; auditwheel's policy file has the same.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}

# Libraries, and their names for -l; the loader has none.
LIBRARIES = {
    "libc.so.6": "libc.so",
    "libm.so.6": "libm.so",
    "libstdc++.so.6": "libstdc++.so",
    "libgcc_s.so.1": "libgcc_s.so",
}
# What the names lead to, as the system's own do.
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
    """Make the folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--readelf", required=True)
    parser.add_argument("--ar", required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    tools = Tools(arguments.compiler, arguments.readelf, arguments.ar)
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)

    # Beside libgcc_s, linkers look here; each library gets its own copy.
    in_libgcc = set().union(*tools.members("libgcc.a").values())
    lacking: set[str] = set()
    having: set[str] = set()
    for name, link_name in LIBRARIES.items():
        homes = homes_of(tools.symbols(tools.library(name)))
        for home, found in homes.items():
            lacked = {symbol.name for symbol in found if not is_allowed(symbol.version)}
            lacking |= lacked
            having |= {symbol.name for symbol in found} - lacked
            symbols = [symbol for symbol in found if symbol.name not in lacked & in_libgcc]
            tools.link_stub(folder, home or name, symbols)
        script = SCRIPTS[link_name].format(
            stub=folder / name,
            moved=" ".join(f'"{folder / home}"' for home in homes if home),
            nonshared=tools.library("libc_nonshared.a"),
            loader=tools.library("ld-linux-x86-64.so.2"),
        )
        (folder / link_name).write_text(script + "\n", encoding="utf-8")
    tools.archive(folder / ARCHIVE, lacking, having)


def is_allowed(version: str) -> bool:
    """Return whether the oldest system has a version; of families without numbers it has all."""
    family, _, number = version.partition("_")
    newest = NEWEST.get(family)
    if newest is None or not re.fullmatch(r"[0-9.]+", number):
        return "PRIVATE" not in version
    return tuple(map(int, number.split("."))) <= newest


def age(symbol: Symbol) -> tuple[bool, tuple[int, ...]]:
    """Return what orders the versions of a symbol: the default one is the newest."""
    return symbol.is_default, tuple(map(int, re.findall("[0-9]+", symbol.version)))


def newest_allowed(versions: list[Symbol]) -> Symbol:
    """Return the version to link with: the newest one of the oldest system, if that has any."""
    allowed = [symbol for symbol in versions if is_allowed(symbol.version)]
    return max(allowed or versions, key=age)


def homes_of(symbols: list[Symbol]) -> dict[str, list[Symbol]]:
    """Return the symbols to link with by the library that has them in the oldest system.

    The empty name is the library that they were found in.
    """
    by_name: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_name.setdefault(symbol.name, []).append(symbol)
    homes: dict[str, list[Symbol]] = {"": []}
    for name, versions in sorted(by_name.items()):
        chosen = newest_allowed(versions)
        came_later = is_allowed(chosen.version) and not is_allowed(max(versions, key=age).version)
        homes_then = [home for home, names in MOVED.items() if came_later and names.match(name)]
        homes.setdefault(homes_then[0] if homes_then else "", []).append(chosen)
    return homes


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
        """Return what each member of a static library defines, and no other may define as well.

        It has none where the library is not installed.
        """
        library = self.library(name)
        members: dict[str, set[str]] = {}
        current = ""
        if not library.is_absolute():
            return members
        for line in self.run(self.readelf, "--syms", "--wide", library).splitlines():
            match line.split():
                case ["File:", name]:
                    current = name.rpartition("(")[2].rstrip(")")
                case [number, _, _, kind, "GLOBAL", _, index, name] if (
                    number.endswith(":") and kind != "FILE" and index != "UND"
                ):
                    members.setdefault(current, set()).add(name)
        return members

    def archive(self, archive: Path, lacking: set[str], having: set[str]) -> None:
        """Make the archive of what the oldest system lacks.

        A member of the static C++ library that defines what the shared one has there would be a
        second copy of it in the process, and a locale has its facets by the address of one.
        """
        wanted = sorted(
            name
            for name, defined in self.members("libstdc++.a").items()
            if defined & lacking and not defined & having
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
        """Link a stub."""
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
