"""The rooms of the package and of native/: who may use whom, and that the core needs no torch.

torch_aie (aie/) is a system of its own: neither uses the other.
"""

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
AIE = ROOT / "aie"
NATIVE_TREES = (NATIVE, AIE / "native")

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
    ("twin.doctor", "twin.dump", "twin.explore", "twin.msprof"),
    ("kit.declare",),
    ("kit.expressions",),
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
    ("compare",),
    ("cli", "pytest_plugin"),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
BASE_OF_TWIN = {"autoload", "environment", "settings", "symbols", "toolkit"}
# OperatorSet.load is the way from a declaration to operators in this process.
ALLOWED_UP = {
    ("opwright.kit.declare.to_live", "opwright.kit.derive.derive"),
    ("opwright.kit.declare.to_live", "opwright.kit.live.loading"),
    ("opwright.kit.declare.to_live", "opwright.kit.live.user_kernels"),
    ("opwright.kit.declare.operator_set", "opwright.kit.live.loading"),
}
# Files that name each other, in types alone, and why they are two.
ALLOWED_CIRCLES = {
    # An operator belongs to a set, which makes it: each is a page of its own.
    frozenset(
        f"opwright.kit.declare.{each}" for each in ("declared_operator", "operator_set", "to_live")
    ),
    # A row is data and is read without torch; the context that it runs with needs torch.
    frozenset({"opwright.check.row_context", "opwright.check.row"}),
    # A rule sees a tensor whose axes are solved when it asks for them.
    frozenset({"opwright.check.samples.seen", "opwright.check.samples.solve"}),
}
# Folders whose files include each other's headers, and why.
NATIVE_CIRCLES = {
    # Converters decide what stays outside of engines, which decides what is lowered and converted.
    frozenset(
        f"aie/native/torchscript/src/{each}"
        for each in ("conversion", "converters", "lowering", "partition")
    ),
    # Operators' sources include these under CANN's paths, which hold a node and its parts apart.
    frozenset({"native/ascendc/host/exe_graph/runtime", "native/ascendc/host/node"}),
    # CANN has one header under two paths.
    frozenset({"native/ascendc/host/platform", "native/ascendc/host/tiling/platform"}),
    # Memory and streams report what happens to the order of tasks, which asks whose memory it is
    # and on which stream; where that order is chosen, streams ask when a task runs, and memory that
    # is freed is poisoned.
    frozenset(f"native/runtime/{each}" for each in ("explore", "memory", "order", "streams")),
}
CORE = (
    "aclnn",
    "kit/declare",
    "kit/expressions",
    "kit/validate",
    "kit/derive",
    "kit/emit",
    "kit/formats",
    "lint",
)
# A folder of native/ includes headers of those in lines before its own, and no others.
NATIVE_ROOMS = (
    ("abi",),
    ("runtime",),
    ("support", "tdt", "collective", "nnopbase", "op_compiler", "sparse_attention"),
    ("opapi",),
    ("user_kernels", "atb"),
    ("graph_engine", "ascendc"),
    ("live", "npu_memory"),
)
# The stubs with which libraries are linked.
NATIVE_APART = {"portable"}


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


def native_sources(*endings: str) -> list[Path]:
    """Return the C++ files of both systems that have these endings."""
    return [
        file for tree in NATIVE_TREES for end in endings for file in sorted(tree.rglob(f"*.{end}"))
    ]


def included_by(file: Path, opening: str = '"') -> set[str]:
    """Return what a file includes, as it is written between quotes, or after these characters."""
    text = file.read_text(encoding="utf-8")
    return set(re.findall(rf"^\s*#\s*include\s+[{opening}]([\w./]+)", text, re.MULTILINE))


def headers_of(file: Path) -> set[Path]:
    """Return the headers that a file includes by a path from a folder above it, of its system."""
    (tree,) = (each for each in NATIVE_TREES if file.is_relative_to(each))
    above = [folder for folder in file.parents if folder.is_relative_to(tree)]  # nearest first
    found = set()
    for name in included_by(file):
        candidates = (folder / name for folder in above)
        found.add(next((each for each in candidates if each.is_file() and each != file), file))
    return found - {file}


def native_room_of(file: Path) -> str:
    """Return the folder of native/ that a file is in."""
    return file.relative_to(NATIVE).parts[0]


def test_every_folder_of_native_has_a_place() -> None:
    folders = {
        native_room_of(file) for file in native_sources("h", "cpp") if file.is_relative_to(NATIVE)
    }
    assert folders == {room for rooms in NATIVE_ROOMS for room in rooms} | NATIVE_APART


def test_a_folder_of_native_includes_those_below_it() -> None:
    level = {room: number for number, rooms in enumerate(NATIVE_ROOMS) for room in rooms}
    upward = {
        (str(file.relative_to(NATIVE)), used)
        for file in native_sources("h", "cpp")
        if file.is_relative_to(NATIVE)
        for used in {native_room_of(header) for header in headers_of(file)} - {native_room_of(file)}
        if level.get(used, len(level)) >= level.get(native_room_of(file), -1)
    }
    assert upward == set()


def test_no_headers_include_each_other() -> None:
    edges = {str(file): {*map(str, headers_of(file))} for file in native_sources("h")}
    assert len(edges) > 100
    assert circles(edges) == []


def test_no_native_folders_beside_each_other_do() -> None:
    edges: dict[str, set[str]] = {}
    for file in native_sources("h", "cpp"):
        one = str(file.parent.relative_to(ROOT))
        for other in {str(header.parent.relative_to(ROOT)) for header in headers_of(file)}:
            if are_beside(one, other):
                edges.setdefault(one, set()).add(other)
    assert {*circles(edges)} == NATIVE_CIRCLES


def imported_by(file: Path) -> set[str]:
    """Return the packages at the top that a Python file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return {name.partition(".")[0] for name in found}


def test_torch_aie_and_the_rest_import_nothing_of_each_other() -> None:
    """The tests of torch_aie alone use opwright: its twin, and the helpers of its tests."""
    ours, theirs = {"opwright", "tests", "tools", "native"}, {"aie", "torch_aie", "mindietorch"}
    packages = sorted((AIE / "python").rglob("*.py"))
    tests = sorted((AIE / "tests").rglob("*.py"))
    rest = [*modules().values(), *sorted((ROOT / "tests").rglob("test_*.py"))]
    assert min(len(packages), len(tests), len(rest)) > 10
    assert {(file, name) for file in packages for name in imported_by(file) & ours} == set()
    assert {name for file in tests for name in imported_by(file) & ours} <= {"opwright", "tests"}
    assert {(file, name) for file in rest for name in imported_by(file) & theirs} == set()


def test_torch_aie_and_the_rest_include_nothing_of_each_other() -> None:
    folders = {  # where the compilers look, for each of the two
        NATIVE: (NATIVE, NATIVE / "abi"),
        AIE / "native": [AIE / "native" / each / "include" for each in ("engine", "torchscript")],
    }
    found = {
        (str(file), name)
        for file in native_sources("h", "cpp")
        for name in included_by(file, '"<')
        for tree, includes in folders.items()
        if not file.is_relative_to(tree) and any((each / name).is_file() for each in includes)
    }
    assert found == set()
