"""The layers of the kit: who may import whom, and that the core needs no torch."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "opwright"
# Each layer imports only itself and those before it; errors and command_line are below all.
LAYERS = ("aclnn", "declare", "validate", "derive", "emit")
CORE = (*LAYERS, "sources", "lint")
# Nothing builds on these but the command line, whose imports are in its functions, and pytest's
# plugin.
OUTER = ("check", "lint")


def imports_of(file: Path) -> set[str]:
    """Return the opwright packages that a file imports at run time or for types."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("opwright."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {
                each.name.split(".")[1] for each in node.names if each.name.startswith("opwright.")
            }
    return found - {"errors", "command_line"}


# OperatorSet.load is the way from a declaration to the live tier; the set has the handle.
ALLOWED_UP = {("declare/loading.py", "live"), ("declare/operator_set.py", "live")}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_those_below_it(layer: str) -> None:
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    upward = {
        (f"{layer}/{file.relative_to(PACKAGE / layer)}", name)
        for file in sorted((PACKAGE / layer).rglob("*.py"))
        for name in imports_of(file) - allowed
    }
    assert upward <= ALLOWED_UP


def test_lint_stands_on_prototypes_alone() -> None:
    found = {name for file in (PACKAGE / "lint").rglob("*.py") for name in imports_of(file)}
    assert found == {"aclnn", "lint"}


def test_references_stand_on_torch_alone() -> None:
    """Operators are compared with them, so they are not made of the same code."""
    found = {name for file in (PACKAGE / "reference").rglob("*.py") for name in imports_of(file)}
    assert found == {"reference"}


def test_the_room_of_private_names_stands_on_torch_alone() -> None:
    """Whoever looks for what a release of torch changed reads nothing else."""
    found = {name for file in (PACKAGE / "internals").rglob("*.py") for name in imports_of(file)}
    assert found == set()


def test_nothing_builds_on_the_outer_ring() -> None:
    found = {
        (str(file.relative_to(PACKAGE)), name)
        for file in sorted(PACKAGE.rglob("*.py"))
        for name in imports_of(file) & {*OUTER} - {file.relative_to(PACKAGE).parts[0]}
    }
    assert found == {("pytest_plugin.py", "check")}


def test_what_rows_share_imports_no_row() -> None:
    check = PACKAGE / "check"
    found = {
        str(file.relative_to(check))
        for file in check.rglob("*.py")
        if not file.is_relative_to(check / "rows")
        and "opwright.check.rows" in file.read_text(encoding="utf-8")
    }
    # These run the matrix.
    assert found == {"processes/server.py", "processes/worker.py", "repro/replay.py"}


def test_rows_import_parts_of_their_own_alone() -> None:
    rows = PACKAGE / "check" / "rows"
    for file in sorted(rows.rglob("*.py")):
        own = file.relative_to(rows).with_suffix("").parts[0]
        used = set(re.findall(r"opwright\.check\.rows\.(\w+)", file.read_text(encoding="utf-8")))
        assert used <= {own}, file


def test_the_core_works_without_torch() -> None:
    modules = [
        ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        for layer in CORE
        for file in sorted((PACKAGE / layer).rglob("*.py"))
        if "templates" not in file.parts
    ]
    names = [module.removesuffix(".__init__") for module in modules]
    code = (
        "import importlib, sys\n"
        "for name in ('torch', 'torch_npu', 'torchair', 'opwright.twin'):\n"
        "    sys.modules[name] = None\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
