"""Facts -> findings: what is wrong, and how to mend it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from opwright.errors import OpwrightError
from opwright.pairs import minor_of, read_pairs
from opwright.twin.settings import (
    GRAPH_COMPILER,
    check_devices,
    check_graph_compiler,
    check_soc,
    parse_memory,
)
from opwright.twin.toolkit import shorten_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from opwright.twin.doctor.evidence import Facts
    from opwright.twin.user_kernels.packages import OperatorPackage

__all__ = ["Finding", "diagnose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or worth knowing.

    Parameters
    ----------
    level
        Problem: something will not work. Note: it works, perhaps otherwise than expected.
    """

    level: Literal["problem", "note"]
    what: str
    cure: str

    @property
    def is_problem(self) -> bool:
        """Whether it makes doctor's exit code 1."""
        return self.level == "problem"


def problem(what: str, cure: str) -> Finding:
    """Make a finding that must be mended."""
    return Finding(level="problem", what=what, cure=cure)


def note(what: str, cure: str) -> Finding:
    """Make a finding that may be intended."""
    return Finding(level="note", what=what, cure=cure)


def diagnose(facts: Facts) -> tuple[Finding, ...]:
    """Judge the facts; problems first."""
    found = [*installation(facts), *environment(facts), *operators(facts), *trial(facts)]
    return tuple(sorted(found, key=lambda finding: not finding.is_problem))


def installation(facts: Facts) -> Iterator[Finding]:
    """Judge Python, torch, torch_npu, the compiler and the toolkit."""
    yield from pair(facts)
    if facts.missing:
        yield problem(
            f"the toolkit {facts.toolkit} lacks {shorten_list(facts.missing)}",
            "run `make native` in the opwright checkout",
        )
    if facts.compiler is None:
        yield note(
            "there is no C++ compiler",
            "install g++ 11 or newer to build extensions and C++ kernels",
        )


def pair(facts: Facts) -> Iterator[Finding]:
    """Judge whether Python, torch and torch_npu belong together."""
    # The installed torch decides, then the one of this wheel; a clone without a build takes any.
    usual = facts.built_for or read_pairs()[-1].torch
    if facts.torch is None:
        wanted = minor_of(facts.torch_npu or usual)
        yield problem("torch is not installed", f"pip install torch=={wanted}.*")
    if facts.torch_npu is None:
        wanted = minor_of(facts.torch or usual)
        yield problem("torch_npu is not installed", f"pip install torch_npu=={wanted}.*")
    if facts.torch is None or facts.torch_npu is None:
        return
    if minor_of(facts.torch) != minor_of(facts.torch_npu):
        yield problem(
            f"torch {facts.torch} and torch_npu {facts.torch_npu} do not belong together",
            f"pip install torch=={minor_of(facts.torch_npu)}.*",
        )
    elif facts.built_for not in {None, minor_of(facts.torch)}:
        yield problem(
            f"this opwright is built for torch {facts.built_for}; torch {facts.torch} is installed",
            f"install the wheel of opwright for torch {minor_of(facts.torch)}, or torch and "
            f"torch_npu {facts.built_for}; in a clone, `make demo TORCH=<release>` builds for "
            "another torch, in a tree of its own",
        )
    known = {minor_of(each.torch): each for each in read_pairs()}
    chosen, python = known.get(minor_of(facts.torch)), minor_of(facts.python)
    if chosen is None:
        yield note(
            f"torch {facts.torch} is none of the versions that opwright accepts",
            f"if something fails, try one of {shorten_list(tuple(known))}",
        )
    elif python not in chosen.pythons:
        yield problem(
            f"torch_npu {facts.torch_npu} has no wheel for Python {python}",
            f"make a virtual environment with Python {shorten_list(chosen.pythons)}",
        )


def environment(facts: Facts) -> Iterator[Finding]:
    """Judge the variables that choose a CANN."""
    variables = facts.variables
    for name in facts.dead_paths:
        yield problem(
            f"{name}={variables[name]} is not a folder",
            f"unset {name}, or source the right set_env.sh",
        )
    home = variables.get("ASCEND_HOME_PATH")
    toolkit_home = variables.get("ASCEND_TOOLKIT_HOME")
    if home and toolkit_home and Path(home).resolve() != Path(toolkit_home).resolve():
        yield problem(
            f"ASCEND_HOME_PATH={home} and ASCEND_TOOLKIT_HOME={toolkit_home} differ",
            "start a new shell and source one set_env.sh",
        )
    on_twin = home is not None and Path(home).resolve() == facts.toolkit
    entries = [
        Path(entry).resolve() for entry in variables.get("LD_LIBRARY_PATH", "").split(":") if entry
    ]
    if on_twin and facts.toolkit / "lib64" not in entries:
        yield problem(
            "ASCEND_HOME_PATH names the twin, but LD_LIBRARY_PATH lacks its lib64 folder",
            "source set_env.sh of the twin, or use `opwright run`, which sets both",
        )
    if on_twin and facts.shadowing:
        yield problem(
            "LD_LIBRARY_PATH has another CANN before the twin: " + ", ".join(facts.shadowing),
            "start a new shell and source one set_env.sh",
        )
    yield from hardware(facts)
    yield from switches(facts)


def hardware(facts: Facts) -> Iterator[Finding]:
    """Judge what there is of a real installation."""
    npus, cann = facts.hardware.npus, facts.hardware.cann
    if facts.hardware.usable:
        yield note(
            f"`opwright run` uses the real NPU (CANN in {cann})", "add --twin to use the twin"
        )
    elif npus:
        yield note(
            f"{len(npus)} NPUs are present, but ASCEND_HOME_PATH names no CANN",
            "source CANN's set_env.sh to use them; `opwright run` uses the twin",
        )
    elif cann:
        yield note(
            f"ASCEND_HOME_PATH names a CANN ({cann}), but there is no NPU",
            "`opwright run` puts the twin before it for the program that it starts; "
            "`opwright enable --prefer` does for plain `python`",
        )


def switches(facts: Facts) -> Iterator[Finding]:
    """Judge the variables that change how torch_npu and the twin behave."""
    variables = facts.variables
    checks: Mapping[str, Callable[[str], object]] = {
        "OPWRIGHT_SOC": lambda value: check_soc(value, where="OPWRIGHT_SOC"),
        "OPWRIGHT_DEVICES": lambda value: check_devices(
            int(value) if value.isdecimal() else -1, where="OPWRIGHT_DEVICES"
        ),
        "OPWRIGHT_MEMORY": lambda value: parse_memory(value, where="OPWRIGHT_MEMORY"),
        GRAPH_COMPILER: lambda value: check_graph_compiler(value, where=GRAPH_COMPILER),
    }
    for name, check in checks.items():
        if variables.get(name):
            try:
                check(variables[name])
            except OpwrightError as error:
                yield problem(
                    f"{name}={variables[name]}: {error.title}",
                    f"{error.fix} ({', '.join(error.allowed[:4])})",
                )
    if variables.get("OPWRIGHT_TWIN") == "0":
        yield note(
            "OPWRIGHT_TWIN=0 keeps `import opwright.twin` from using the twin",
            "unset OPWRIGHT_TWIN",
        )
    if variables.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        yield note(
            "TORCH_DEVICE_BACKEND_AUTOLOAD=0: torch does not load torch_npu by itself",
            "import torch_npu in the program, or unset the variable",
        )
    if variables.get("LD_PRELOAD"):
        yield note(
            f"LD_PRELOAD={variables['LD_PRELOAD']}: torch_npu then looks functions up in every "
            "loaded library first",
            "unset LD_PRELOAD unless it is meant",
        )


def operators(facts: Facts) -> Iterator[Finding]:
    """Judge the packages of user operators."""
    for package in facts.packages:
        if not package.exists:
            yield problem(
                f"{package.source} names a package without {package.library}",
                "build or install the operator package, or remove the entry",
            )
        elif not may_load(package, facts.user):
            yield problem(
                f"{package.library} belongs to user {package.owner}: torch_npu skips it, it is "
                f"neither the user of the process ({facts.user}) nor root",
                f"chown {facts.user} {package.library}",
            )


def may_load(package: OperatorPackage, user: int) -> bool:
    """Return whether torch_npu accepts the owner of a library (op_api_common.h)."""
    return package.owner in (user, 0)


def trial(facts: Facts) -> Iterator[Finding]:
    """Judge the run of torch_npu on the twin."""
    if facts.trial is not None and not facts.trial.passed:
        yield problem(
            f"torch_npu does not run on the twin:\n{facts.trial.output}",
            "mend the problems above first; if there are none, run `make native` and try again",
        )
