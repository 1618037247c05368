"""Names in this tree that pages and workflows use: verbs, goals, the default pair's wheel."""

from __future__ import annotations

import re

import typer
from typer.core import TyperGroup

from opwright import __version__
from opwright.cli import app
from tools.repository import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
GOALS = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)
VERBS = set(GROUP.list_commands(typer.Context(GROUP)))


def default(name: str) -> str:
    """Return a default of the Makefile."""
    found = re.search(rf"^DEFAULT_{name} := (\S+)$", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1]


TORCH, PYTHON = default("TORCH"), default("PYTHON")
TAG = f"cp{PYTHON.replace('.', '')}"
WHEEL = (
    f"opwright-{__version__}+torch{TORCH.rpartition('.')[0]}-{TAG}-{TAG}-manylinux_2_28_x86_64.whl"
)
