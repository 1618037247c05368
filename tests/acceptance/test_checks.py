"""`opwright check` finds nothing in any example that declares operators, nor in a new project.

What is torch's or torch_npu's own is in the check.toml beside the declaration, with the reason.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from opwright.project.template import TEMPLATES
from tests.acceptance.sample import EXAMPLES, run

# Each takes 15 to 40 seconds, most of it in compilers of graphs.
pytestmark = [pytest.mark.twin, pytest.mark.compile, pytest.mark.slow]

# Declarations of the examples, with what runs as the device kernel where the reference does not.
DECLARATIONS: dict[str, tuple[str, ...]] = {
    "ascend_c/operators.py": (),
    "moe_gating_top_k/operators.py": (),
    "torchair/in_place_from_scratch/declared/operators.py": (),
    "torchair/in_place_plugin/declared/operators.py": (
        "--kernels",
        str(EXAMPLES / "torchair" / "in_place_plugin" / "kernel.py"),
    ),
    "torchair/non_in_place_from_scratch/declared/operators.py": (),
    "torchair/non_in_place_plugin/declared/operators.py": (),
}
# Described operators of a wheel: tests/acceptance/test_custom_pypto.py builds and checks it.
OF_WHEELS = {"custom_pypto/declared/described.py"}


def test_every_declaration_of_the_examples_is_checked() -> None:
    found = {
        str(path.relative_to(EXAMPLES))
        for path in EXAMPLES.rglob("*.py")
        if not {"build", "generated"} & set(path.relative_to(EXAMPLES).parts)
        and "OperatorSet(" in path.read_text(encoding="utf-8")
    }
    assert found == DECLARATIONS.keys() | OF_WHEELS


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_nothing_is_found_in_an_example(tmp_path: Path, declaration: str) -> None:
    for path in (EXAMPLES / declaration, (EXAMPLES / declaration).with_name("check.toml")):
        if path.exists():
            shutil.copy(path, tmp_path)
    kernels = DECLARATIONS[declaration]
    done = run("opwright", "check", tmp_path / Path(declaration).name, *kernels)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d\d passed", done.stdout), done.stdout


def test_nothing_is_found_in_a_new_project_with_an_operator_of_each_template(
    tmp_path: Path,
) -> None:
    first, *others = TEMPLATES
    folder = tmp_path / "my_ops"
    commands: list[tuple[str | Path, ...]] = [("new", folder, "--from", first)]
    commands += [
        ("add", f"my_{name.replace('-', '_')}", "--project", folder, "--from", name)
        for name in others
    ]
    for command in commands:
        made = run("opwright", *command)
        assert made.returncode == 0, made.stdout + made.stderr
    done = run("opwright", "check", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{len(TEMPLATES)} operators", done.stdout, re.MULTILINE), done.stdout
