"""Private names of torch, torch_npu and TorchAir, and versions: where they may stand.

Read from the sources. What a release changes is so found in three places: `opwright.internals`,
the modules of `opwright.kit.shipped` that go into wheels, and `torch_aie._internals`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tools.repository import repository_files

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGES = ("opwright", "aie/python")
LIBRARIES = ("torch", "torch_npu", "torchair", "npugraph_ex")
ROOMS = (
    "opwright/internals/",
    "opwright/kit/shipped/_internals.py",
    "opwright/kit/shipped/_internals_of_torchair.py",
    "aie/python/torch_aie/_internals.py",
)
# Names in text that becomes somebody's program, which has no room to take them from.
TEXTS = ("opwright/kit/emit/",)

# Attributes of objects of torch: nothing is imported, and each release has had them.
OF_OBJECTS = {
    "_schema": "of an operator: it has no other name",
    "_cdata": "of a storage: which one it is, also where it has no memory",
    "_version": "of a tensor: documented for extensions, without another name",
    "_set_replacement": "of a ShapeEnv: overridden, to note where a symbol becomes a number",
    "_proto": "of TorchAir's graphs: their name is there alone",
}
# Attributes of other objects, by file.
OF_OTHERS = {
    ("aie/python/torch_aie/npu.py", "_row"): "of a class of that module",
    ("aie/python/torch_aie/npu.py", "_of_row"): "of a class of that module",
    ("opwright/check/pytest_plugin/shards.py", "_split_scope"): "of pytest-xdist's schedulers",
}
# Functions of Python, documented by these names.
OF_PYTHON = {"_exit", "_getframe", "_current_frames"}
# Where operators stand: torch.ops.aten._softmax is the name of one.
OPERATORS = re.compile(r"(torch\.ops\.)?aten\.\w+(\.\w+)?")

# Files that ask for a version of a library or of Python, or read ranges of them, and what for.
VERSIONS = {
    "opwright/pairs.py": "the one module that knows which versions belong together",
    "opwright/kit/packaging/build.py": "notes what a library was made with",
    "opwright/kit/packaging/versions.py": "an operator's own range, as its author declared it",
    "opwright/check/processes/server.py": "names in a report what was run",
    "opwright/kit/shipped/loading.py": "a wheel loads with the torch that it was built for",
    "opwright/kit/shipped/op_plugin.py": "names torch_npu in an error",
    "opwright/twin/doctor/evidence.py": "reports what is installed",
    "opwright/kit/validate/metadata.py": "an operator's own range, as its author declared it",
}

# A release of a library by name: "torch 2.13", "Python 3.11", "(2.13.0)", "of 2.13.0". Forms of
# versions, which guides and errors show as examples, are not meant.
RELEASE = re.compile(
    r"\b(?:torch(?:_npu|air)?|pytorch|c?python)(?:'s)?[ ,(=]{1,3}v?[23]\.\d"
    r"|(?:\(|\bof )v?2\.(?:[5-9]|1\d)\b",
    re.IGNORECASE,
)
# Folders of sources. Data (tables, JSON) has the release that it was made from.
SOURCES = (*PACKAGES, "aie/native", "native", "tools")
DATA = (".tsv", ".json")
# Files that name a release, and what for.
RELEASES = {
    "opwright/pairs.py": "the oldest Python that set-up starts with",
    "tools/matrix.py": "the pairs that it tests",
    "aie/python/torch_aie/prefix.py": "the Python whose name the folders of the guide have",
}


class Found(NamedTuple):
    """A name, and where it stands."""

    file: str
    line: int
    name: str


def sources() -> dict[str, str]:
    """Return the text of our modules by path; opwright/cann is made when the package is built."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    texts = {str(each.relative_to(ROOT)): each.read_text(encoding="utf-8") for each in files}
    return {path: text for path, text in texts.items() if not path.startswith("opwright/cann/")}


@pytest.fixture(scope="module")
def modules() -> list[tuple[str, ast.Module]]:
    """Return those that have anything to find, parsed."""
    suspect = re.compile(r"[.\s(,]_[A-Za-z]|version|packaging")
    texts = sources()
    return [(path, ast.parse(text)) for path, text in texts.items() if suspect.search(text)]


def is_private(name: str) -> bool:
    """Return whether a part of a dotted name is private."""
    parts = name.split(".")
    return any(each.startswith("_") and not each.endswith("__") for each in parts)


def is_librarys(name: str) -> bool:
    """Return whether a dotted name is one of the libraries, or in it."""
    return name.partition(".")[0] in LIBRARIES


def dotted(node: ast.expr) -> str | None:
    """Return a name with its attributes, if it is that and nothing else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def imports(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield what is imported: line, the name here, the whole name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                first = each.name.partition(".")[0]
                yield node.lineno, each.asname or first, each.name if each.asname else first
                yield node.lineno, "", each.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                yield node.lineno, each.asname or each.name, f"{node.module}.{each.name}"


def private_names(path: str, tree: ast.Module) -> Iterator[Found]:
    """Yield private names of the libraries: imported, reached by attributes, or in a text."""
    known = {}
    for line, here, there in imports(tree):
        if is_librarys(there):
            known[here] = there
            if is_private(there):
                yield Found(path, line, there)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = dotted(node)
            first, _, rest = (name or "").partition(".")
            whole = f"{known[first]}.{rest}" if first in known else ""
            if is_private(whole) and not OPERATORS.fullmatch(whole):
                yield Found(path, node.lineno, whole)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_name = re.fullmatch(r"\w+(\.\w+)+", node.value)
            if is_name and is_librarys(node.value) and is_private(node.value):
                yield Found(path, node.lineno, node.value)


def private_attributes(path: str, tree: ast.Module) -> Iterator[Found]:
    """Yield private attributes of any object but those of a class of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = dotted(node.value) or ""
            is_own = owner in {"self", "cls"} or owner.startswith(("opwright", "torch_aie"))
            is_operator = OPERATORS.fullmatch(f"{owner}.{node.attr}") is not None
            if not is_own and not is_operator and node.attr not in OF_PYTHON:
                yield Found(path, node.lineno, node.attr)


def versions(path: str, tree: ast.Module) -> Iterator[Found]:
    """Yield where the version of one of the libraries, or of Python, is asked for."""
    known = {}
    for line, here, there in imports(tree):
        known[here] = there
        if re.fullmatch(r"packaging\.(version|specifiers)(\.\w+)?", there):
            yield Found(path, line, there)
    for node in ast.walk(tree):
        name = dotted(node) if isinstance(node, ast.Attribute | ast.Name) else None
        first, _, rest = (name or "").partition(".")
        whole = f"{known.get(first, first)}.{rest}".rstrip(".")
        if re.fullmatch(
            r"(torch|torch_npu|torchair)\.(__version__|version(\.\w+)?|torch_version(\.\w+)?)"
            r"|sys\.(version_info|version|hexversion)|platform\.python_version(_tuple)?"
            r"|importlib\.metadata\.version",
            whole,
        ):
            assert isinstance(node, ast.expr)
            yield Found(path, node.lineno, whole)


def in_rooms(path: str) -> bool:
    """Return whether private names may stand in a file."""
    return path.startswith(ROOMS)


def test_private_names_stand_in_their_rooms(modules: list[tuple[str, ast.Module]]) -> None:
    found = [
        f"{path}:{each.line}: {each.name}: take it from {ROOMS[0]}, with a reason"
        for path, tree in modules
        for each in private_names(path, tree)
        if not path.startswith((*ROOMS, *TEXTS))
    ]
    assert found == []


def test_private_attributes_of_objects_are_known(modules: list[tuple[str, ast.Module]]) -> None:
    used = {
        (path, each.name)
        for path, tree in modules
        for each in private_attributes(path, tree)
        if not in_rooms(path)
    }
    others = used - {each for each in used if each[1] in OF_OBJECTS} - OF_OTHERS.keys()
    assert others == set()
    assert OF_OBJECTS.keys() == {name for _, name in used if name in OF_OBJECTS}  # none is stale
    assert OF_OTHERS.keys() <= used


def test_no_version_is_compared(modules: list[tuple[str, ast.Module]]) -> None:
    found = {each.file for path, tree in modules for each in versions(path, tree)}
    assert found == VERSIONS.keys()


def test_no_source_names_a_release() -> None:
    """A comment says which feature decides: that stays true with the next release."""
    folders = tuple(f"{folder}/" for folder in SOURCES)
    paths = [name for name in repository_files() if name.startswith(folders)]
    found = {
        f"{path}:{number}: {line.strip()}": path
        for path in paths
        if not path.endswith(DATA)
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if RELEASE.search(line)
    }
    assert [line for line, path in found.items() if path not in RELEASES] == []
    assert set(found.values()) == RELEASES.keys()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("# since torch 2.13 it is there", True),
        ("// torch_npu/csrc/file.h (2.13.0)", True),
        ("# what CPython 3.11 does, torch_npu's (2.9)", True),
        ("torch==2.10.0 of a user", True),
        ('a minor version, for example "2.13", or >=2.13,<2.14', False),
        ("torch takes 2.5 s of it", False),
    ],
)
def test_a_release_is_not_the_form_of_a_version(text: str, *, names: bool) -> None:
    assert (RELEASE.search(text) is not None) == names


def test_every_name_of_a_room_is_used(modules: list[tuple[str, ast.Module]]) -> None:
    """A name that nobody takes any more is one that no release has to have."""
    used = {
        word
        for path, text in sources().items()
        if not in_rooms(path)
        for word in re.findall(r"\w+", text)
    }
    unused = [
        f"{path}: {name}"
        for path, tree in modules
        if in_rooms(path)
        for name in exported(tree)
        if name not in used
    ]
    assert unused == []


def test_a_name_stands_in_one_room_of_opwright(modules: list[tuple[str, ast.Module]]) -> None:
    counts = Counter(
        name
        for path, tree in modules
        if in_rooms(path) and path.startswith("opwright/")
        for name in exported(tree)
    )
    assert [name for name, count in counts.items() if count > 1] == []


def exported(tree: ast.Module) -> list[str]:
    """Return what a module exports."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
            return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]  # an assignment
    return []


# Text: it is parsed, not run.
FOUND = """
import sys
import torch
import torch._dynamo
import torchair._ge_concrete_graph as graphs
from packaging.version import Version
from torch import _C
from torch._ops import OpOverload
from torch.autograd import forward_ad
name = "torch._inductor.config"
torch._C._dispatch_dump("x"), forward_ad._current_level, graphs.utils
torch.ops.aten._softmax(1), aten._softmax.default, self._own, "a torch._word in a sentence"
if sys.version_info >= (3, 12) or torch.__version__ < "2": ...
tensor._base
"""


def test_what_is_looked_for_is_found() -> None:
    tree = ast.parse(FOUND)
    assert {each.name for each in private_names("f.py", tree)} == {
        "torch._dynamo",
        "torch._C",
        "torch._ops.OpOverload",
        "torch._inductor.config",
        "torch._C._dispatch_dump",
        "torch.autograd.forward_ad._current_level",
        "torchair._ge_concrete_graph",
        "torchair._ge_concrete_graph.utils",
    }
    assert {each.name for each in private_attributes("f.py", tree)} == {
        *("_C", "_dispatch_dump", "_current_level", "_base")
    }
    assert {each.name for each in versions("f.py", tree)} == {
        *("packaging.version.Version", "sys.version_info", "torch.__version__")
    }
