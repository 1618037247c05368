"""Wheels of operators that write: compiled graphs launch what the eager calls do, without copies.

The operators, the models and the modes are those of tests/kit/live/graphs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.twin, pytest.mark.build, pytest.mark.compile, pytest.mark.slow]

GRAPHS = Path(__file__).parents[1] / "kit" / "live" / "graphs"
PACKAGE = "in_graphs"
FORMS = {"full": (), "stable": ("--stable-abi",)}
LIMIT = 900  # seconds
Line = dict[str, Any]


def run(*command: str | Path, where: Path, **variables: str) -> str:
    """Run a command that succeeds; return its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=where,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Installed:
    """A wheel in a clean environment."""

    python: Path
    project: Path

    def lines(self, *modes: str) -> dict[str, dict[tuple[str, bool], Line]]:
        """Run the models in some modes; return by mode the lines about each."""
        opwright = (sys.executable, "-m", "opwright")
        kernels = ("--kernels", self.project / "operators.py")
        script = (self.python, GRAPHS / "run.py", ",".join(modes), PACKAGE)
        out = run(*opwright, "run", *kernels, "--", *script, where=self.project.parent)
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return {
            mode: {(line["model"], line["dynamic"]): line for line in lines if line["mode"] == mode}
            for mode in modes
        }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with the declaration."""
    folder = tmp_path_factory.mktemp("graphs")
    run(sys.executable, "-m", "opwright", "new", PACKAGE, "--from", "in-place", where=folder)
    text = (GRAPHS / "operators.py").read_text(encoding="utf-8")
    (folder / PACKAGE / "operators.py").write_text(text, encoding="utf-8")
    return folder / PACKAGE


@pytest.fixture(scope="module", params=FORMS)
def installed(request: pytest.FixtureRequest, project: Path) -> Installed:
    """Build and install a form."""
    form = str(request.param)
    cache = {"XDG_CACHE_HOME": str(project.parent / "cache")}
    build = (sys.executable, "-m", "opwright", "build", *FORMS[form], "-o", f"dist-{form}")
    run(*build, where=project, **cache)
    (wheel,) = (project / f"dist-{form}").iterdir()
    folder = project.parent / f"venv-{form}"
    run(sys.executable, "-m", "venv", "--without-pip", folder, where=project)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", f"--python={python}", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, where=project)
    (site,) = folder.glob("lib/python*/site-packages")
    outer = sysconfig.get_path("purelib")
    # Python's site module runs the line; so the .pth files of the outer folder are read as well.
    (site / "outer.pth").write_text(f"import site; site.addsitedir({outer!r})\n", encoding="utf-8")
    return Installed(python, project)


def launches(line: Line) -> list[list[str]]:
    """Return the launches of each capture; a copy of memory onto itself moves nothing."""
    return [
        [
            name if name == "InplaceCopy" else name.removeprefix("Inplace")
            for name in capture
            if name != "CopyOntoItself"
        ]
        for capture in line["captured"]
    ]


def test_graphs_of_a_wheel(installed: Installed) -> None:
    lines = installed.lines("by hand", "reduce-overhead", "max-autotune", "npugraph_ex")
    by_hand = lines.pop("by hand")
    for mode, compiled in lines.items():
        assert len(compiled) == 2 * len(by_hand)
        for (name, dynamic), line in compiled.items():
            assert (mode, name, dynamic, line["wrong"]) == (mode, name, dynamic, [])
            if mode == "max-autotune":  # GE runs a graph, nothing is captured
                continue
            (wanted,) = launches(by_hand[name, False])
            found = launches(line)
            assert (name, dynamic, found) == (name, dynamic, [wanted] * len(found))
            assert found
