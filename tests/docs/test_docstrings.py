"""Examples in docstrings run and print what they say; the reference shows the public names."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)
FILES = [
    path.relative_to(base)
    for base, packages in ((ROOT, ("opwright", "tools")), (ROOT / "aie" / "python", (".",)))
    for package in packages
    for path in sorted((base / package).rglob("*.py"))
    # Templates are not modules, and opwright/cann is built.
    if not {"templates", "cann"} & {*path.parts} and EXAMPLE.search(path.read_text("utf-8"))
]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_examples_print_what_they_say(path: Path) -> None:
    module = importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0


def test_every_public_name_is_in_the_reference() -> None:
    lines = (ROOT / "tests" / "public_api.txt").read_text(encoding="utf-8").splitlines()
    public = {re.split(r"[(,]", line)[0] for line in lines}
    pages = [path.read_text("utf-8") for path in (ROOT / "docs" / "reference").glob("*.md")]
    shown = {*re.findall(r"^::: (\S+)", "\n".join(pages), re.MULTILINE)}
    # A method stands with its class.
    assert {name for name in public if not {name, name.rpartition(".")[0]} & shown} == set()
