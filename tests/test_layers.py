"""The rooms of the package and of native/: who may use whom, and that the core needs no torch."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "opwright"
NATIVE = ROOT / "native"

# A room uses those before it, and no others. Inside `twin` and `kit` each folder is a room; `twin`
# itself is its files, of which some are below the user's kernels: they know no other file of it.
ROOMS = (
    ("errors", "lock", "digest", "pairs", "other_cann"),
    ("command_line",),
    ("internals",),
    ("aclnn",),
    ("reference",),
    ("twin.base",),
    ("twin.user_kernels",),
    ("twin",),
    ("twin.doctor", "twin.dump", "twin.msprof"),
    ("kit.declare",),
    ("kit.validate",),
    ("kit.derive",),
    ("kit.emit", "kit.shipped"),
    ("kit.live",),
    ("declare", "live"),
    ("project",),
    ("kit.packaging", "kit.formats"),
    ("kit.op_plugin",),
    ("graph_report",),
    ("graph_engine",),
    ("coverage",),
    ("ascendc",),
    ("lint",),
    ("check",),
    ("cli", "pytest_plugin"),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
BASE_OF_TWIN = {"autoload", "environment", "settings", "symbols", "toolkit"}
# OperatorSet.load is the way from a declaration to operators in this process.
ALLOWED_UP = {
    ("opwright.kit.declare.to_live", "opwright.kit.derive.derive"),
    ("opwright.kit.declare.to_live", "opwright.kit.live.loading"),
    ("opwright.kit.declare.to_live", "opwright.kit.live.twin"),
    ("opwright.kit.declare.operator_set", "opwright.kit.live.loading"),
}
# Files that name each other, in types alone, and why they are two.
ALLOWED_CIRCLES = {
    # An operator belongs to a set, which makes it: each is a page of its own.
    frozenset(
        f"opwright.kit.declare.{each}" for each in ("declared_operator", "operator_set", "to_live")
    ),
    # A row is data and is read without torch; the bench that it runs with needs torch.
    frozenset({"opwright.check.bench", "opwright.check.row"}),
    # A rule sees a tensor whose axes are solved when it asks for them.
    frozenset({"opwright.check.samples.seen", "opwright.check.samples.solve"}),
}
# Folders of native/ whose files include each other's headers, and why.
NATIVE_CIRCLES = {
    # Converters decide what stays outside of engines, which decides what is lowered and converted.
    frozenset(
        f"aie/torchscript/src/{each}"
        for each in ("conversion", "converters", "lowering", "partition")
    ),
    # Operators' sources include these under CANN's paths, which hold a node and its parts apart.
    frozenset({"ascendc/host/exe_graph/runtime", "ascendc/host/node"}),
}
CORE = ("aclnn", "kit/declare", "kit/validate", "kit/derive", "kit/emit", "kit/formats", "lint")
# A folder of native/ includes headers of those in lines before its own, and no others.
NATIVE_ROOMS = (
    ("abi",),
    ("runtime",),
    ("support", "tdt", "collective", "nnopbase", "op_compiler", "sparse_attention"),
    ("opapi",),
    ("user_kernels",),
    ("graph_engine", "ascendc"),
    ("live",),
)
# Systems of their own: torch_aie, and the stubs with which libraries are linked.
NATIVE_APART = {"aie", "portable"}


def room_of(name: str) -> str:
    """Return the room of a module."""
    parts = name.split(".")[1:]
    if parts[:1] == ["twin"] and len(parts) == 2 and parts[1] in BASE_OF_TWIN:
        return "twin.base"
    nested = len(parts) > 1 and parts[0] in {"twin", "kit"} and is_package(parts[:2])
    return ".".join(parts[: 2 if nested else 1])


def is_package(parts: list[str]) -> bool:
    """Return whether a name of the package is a folder."""
    return PACKAGE.joinpath(*parts).is_dir()


@cache
def modules() -> dict[str, Path]:
    """Return the modules of the package, stubs of compiled ones as well."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for suffix in ("py", "pyi")
        for file in sorted(PACKAGE.rglob(f"*.{suffix}"))
        if not {"templates", "cann"} & set(file.parts)
    }


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return the modules that one imports at run time, in its functions or for types.

    The package itself is none: it imports what it shows when that is asked for.
    """
    found = set()
    for node in ast.walk(ast.parse(modules()[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{each.name}" for each in node.names]
            found |= {each if each in modules() else node.module for each in names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return frozenset(found & set(modules()) - {name, "opwright"})


def circles(edges: dict[str, set[str]]) -> list[frozenset[str]]:
    """Return the groups of names that reach each other."""

    def find_reachable(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            new = edges.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    reach = {name: find_reachable(name) for name in edges}
    found = {
        frozenset(other for other in reach[name] if name in reach.get(other, ()))
        for name in edges
        if name in reach[name]
    }
    return sorted(found, key=sorted)


def test_every_room_has_a_place() -> None:
    assert {room_of(name) for name in modules() if name != "opwright"} - {"kit"} == set(LEVEL)


def test_a_room_uses_those_below_it() -> None:
    upward = {
        (name, used)
        for name in modules()
        if name not in {"opwright", "opwright.kit"}
        for used in imports_of(name)
        if room_of(used) != room_of(name) and LEVEL[room_of(used)] >= LEVEL[room_of(name)]
    }
    assert upward == ALLOWED_UP


def test_no_files_import_each_other() -> None:
    edges = {
        name: {used for used in imports_of(name) if (name, used) not in ALLOWED_UP}
        for name in modules()
    }
    assert {*circles(edges)} == ALLOWED_CIRCLES


def test_no_folders_beside_each_other_do() -> None:
    """A folder and those in it are one room: its own files put the others together."""
    edges: dict[str, set[str]] = {}
    for name in modules():
        for used in imports_of(name):
            one, other = (str(modules()[each].parent) for each in (name, used))
            if (name, used) not in ALLOWED_UP and are_beside(one, other):
                edges.setdefault(one, set()).add(other)
    assert circles(edges) == []


def are_beside(one: str, other: str) -> bool:
    """Return whether neither of two folders is in the other."""
    return not (Path(one).is_relative_to(other) or Path(other).is_relative_to(one))


def test_a_circle_is_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert circles(edges) == [frozenset("abc")]


def test_lint_stands_on_prototypes_alone() -> None:
    used = {
        room_of(each) for name in modules() if room_of(name) == "lint" for each in imports_of(name)
    }
    assert used - {"errors", "command_line"} == {"aclnn", "lint"}


@pytest.mark.parametrize("room", ["reference", "internals", "kit.shipped"])
def test_a_room_stands_on_torch_alone(room: str) -> None:
    """References are compared with kernels; private names are read alone; wheels take shipped."""
    used = {
        room_of(each) for name in modules() if room_of(name) == room for each in imports_of(name)
    }
    assert used <= {room, "errors"}


def test_what_rows_share_imports_no_row() -> None:
    found = {
        name
        for name in modules()
        if name.startswith("opwright.check.") and not name.startswith("opwright.check.rows")
        if any(used.startswith("opwright.check.rows") for used in imports_of(name))
    }
    # These run the matrix.
    assert found == {
        "opwright.check.processes.server",
        "opwright.check.processes.worker",
        "opwright.check.repro.replay",
    }


def test_rows_import_parts_of_their_own_alone() -> None:
    rows = PACKAGE / "check" / "rows"
    for file in sorted(rows.rglob("*.py")):
        own = file.relative_to(rows).with_suffix("").parts[0]
        used = set(re.findall(r"opwright\.check\.rows\.(\w+)", file.read_text(encoding="utf-8")))
        assert used <= {own}, file


def test_the_core_works_without_torch() -> None:
    names = [
        name
        for name, file in modules().items()
        if any(file.is_relative_to(PACKAGE / layer) for layer in CORE)
    ]
    # Text: a module of tests imports more.
    code = (
        "import importlib, sys\n"
        "for name in ('torch', 'torch_npu', 'torchair', 'opwright.twin'):\n"
        "    sys.modules[name] = None\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def includes_of(file: Path) -> set[str]:
    """Return the headers below native/ that a file includes by a path from a folder above it."""
    text = file.read_text(encoding="utf-8")
    found = re.findall(r'^\s*#\s*include\s+"([\w./]+)"', text, re.MULTILINE)
    above = [folder for folder in file.parents if folder.is_relative_to(NATIVE)]  # nearest first
    headers = (next(filter(Path.is_file, (each / name for each in above)), None) for name in found)
    return {str(header.relative_to(NATIVE)) for header in headers if header}


def test_every_folder_of_native_has_a_place() -> None:
    folders = {
        file.relative_to(NATIVE).parts[0] for file in [*NATIVE.rglob("*.h"), *NATIVE.rglob("*.cpp")]
    }
    assert folders == {room for rooms in NATIVE_ROOMS for room in rooms} | NATIVE_APART


def test_a_folder_of_native_includes_those_below_it() -> None:
    level = {room: number for number, rooms in enumerate(NATIVE_ROOMS) for room in rooms}
    upward = {
        (str(file.relative_to(NATIVE)), used)
        for room in {*level, *NATIVE_APART}
        for suffix in ("h", "cpp")
        for file in sorted((NATIVE / room).rglob(f"*.{suffix}"))
        for used in {each.partition("/")[0] for each in includes_of(file)} - {room}
        if level.get(used, len(level)) >= level.get(room, -1)
    }
    assert upward == set()


def test_no_headers_include_each_other() -> None:
    headers = {str(file.relative_to(NATIVE)): file for file in NATIVE.rglob("*.h")}
    assert circles({name: includes_of(file) for name, file in headers.items()}) == []


def test_no_folders_of_native_beside_each_other_do() -> None:
    edges: dict[str, set[str]] = {}
    for file in [*NATIVE.rglob("*.h"), *NATIVE.rglob("*.cpp")]:
        one = str(file.parent.relative_to(NATIVE))
        for other in {str(Path(used).parent) for used in includes_of(file)}:
            if are_beside(one, other):
                edges.setdefault(one, set()).add(other)
    assert {*circles(edges)} == NATIVE_CIRCLES
