"""Doctor's result for people and for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from opwright.twin.text import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.twin.doctor.diagnosis import Finding
    from opwright.twin.doctor.evidence import Facts
    from opwright.twin.enabling import State

__all__ = ["to_json", "to_text"]


# Whether torch_npu finds the twin in a program that nobody starts with `opwright run`.
PLAIN: dict[State, str] = {
    "disabled": "not on the twin; `opwright enable` changes that",
    "enabled": "on the twin where no CANN is (`opwright enable`)",
    "preferred": "on the twin always (`opwright enable --prefer`)",
}


def to_text(facts: Facts, findings: Sequence[Finding]) -> str:
    """Return what is there, then each finding with its cure."""
    table = Table.grid(padding=(0, 2))
    for name, value in summary(facts).items():
        table.add_row(f"[bold]{name}[/bold]", escape(value))
    lines = []
    for finding in findings:
        colour = "red" if finding.is_problem else "yellow"
        what = escape(finding.what).replace("\n", "\n         ")
        lines.append(
            f"[{colour}]{finding.level}[/{colour}]  {what}\n"
            f"   [green]cure[/green]  {escape(finding.cure)}"
        )
    if not any(finding.is_problem for finding in findings):
        lines.append("[green]no problem found[/green]")
    return render(table, "", *lines)


def summary(facts: Facts) -> dict[str, str]:
    """Return what is there, by name, in words."""
    build = (
        ""
        if facts.torch is None
        else f" (CUDA {facts.torch_cuda})"
        if facts.torch_cuda
        else " (CPU)"
    )
    trial = facts.trial
    ran = (
        "not tried"
        if trial is None
        else f"runs: {trial.output}"
        if trial.passed
        else "fails, see below"
    )
    return {
        "python": facts.python,
        "torch": f"{facts.torch or 'not installed'}{build}",
        "torch_npu": facts.torch_npu or "not installed",
        "compiler": facts.compiler or "none",
        "toolkit": f"{facts.toolkit} ({'incomplete' if facts.missing else 'complete'})",
        "npu": ", ".join(facts.hardware.npus) or "none",
        "cann": facts.hardware.cann or "none but the twin",
        "runs on": "the real NPU" if facts.hardware.usable else "the twin",
        "plain python": PLAIN[facts.by_itself],
        "trial": ran,
    }


def to_json(facts: Facts, findings: Sequence[Finding]) -> str:
    """Return facts and findings; paths as strings."""
    result = {"facts": asdict(facts), "findings": [asdict(finding) for finding in findings]}
    return json.dumps(result, indent=2, default=str)
