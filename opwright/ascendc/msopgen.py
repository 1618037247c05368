"""The toolkit's `msopgen`: the command with which public scripts make operator projects.

`msopgen gen` writes the project of `opwright ascendc new`. Options that ask for other projects than
those in C++ for AI Core are refused by name.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.ascendc.new import (
    CHIP,
    choose_operator,
    emit_project,
    read_prototypes,
    write_project,
)
from opwright.ascendc.project_errors import NewOperatorError
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["chip_of", "generate", "main"]

PACKAGE_ALONE = ("aclnn", "pytorch")  # frameworks that call a package as it is
WITH_PLUGINS = ("caffe", "mindspore", "ms", "onnx", "tensorflow", "tf")
CREATE, ADD = 0, 1
# A model's name and the family that AddConfig names: Ascend910B4, Ascend910_9391, Ascend310P3.
MODEL = re.compile(r"(ascend\d{3}(?:[a-z]|_\d\d)?)\d*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run msopgen as a command; return its exit code: 1 for what it cannot make."""
    given = read_arguments(arguments)
    try:
        folder = generate(given)
    except (OpwrightError, OSError) as error:
        sys.stderr.write(f"msopgen: {error}\n")
        return 1
    if given.framework in WITH_PLUGINS:
        sys.stderr.write(
            f"msopgen: -f {given.framework}: the project has no plug-in for that framework, "
            "whose models the twin does not import\n"
        )
    sys.stdout.write(f"made {folder}\n")
    return 0


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line, whose options have one dash before several letters."""
    parser = argparse.ArgumentParser(
        prog="msopgen", description="Operator projects in Ascend C.", allow_abbrev=False
    )
    commands = parser.add_subparsers(dest="command", required=True)
    gen = commands.add_parser(
        "gen", help="make a project from the definition of an operator", allow_abbrev=False
    )
    gen.add_argument("-i", "--input", type=Path, required=True, help="the JSON with the definition")
    gen.add_argument(
        "-c", "--compute_unit", required=True, metavar="ai_core-CHIP", help="ai_core-ascend910b"
    )
    gen.add_argument(
        "-f",
        "--framework",
        type=str.lower,
        choices=sorted((*PACKAGE_ALONE, *WITH_PLUGINS)),
        default="aclnn",
    )
    gen.add_argument("-lan", "--language", type=str.lower, choices=("cpp",), default="cpp")
    gen.add_argument(
        "-out", "--output", type=Path, default=Path(), help="the project's folder; default: here"
    )
    gen.add_argument(
        "-m",
        "--mode",
        type=int,
        choices=(CREATE, ADD),
        default=CREATE,
        help="0: a new project; 1: one more operator in a project",
    )
    gen.add_argument("-op", "--operator", help="the operator, if the definition has several")
    return parser.parse_args(arguments)


def generate(given: argparse.Namespace) -> Path:
    """Write the project of a command line; return its folder.

    Raises
    ------
    NewOperatorError, MsOpGenError
        OPW-A015, OPW-S004: no project can be made, or files of it exist already.
    """
    found = read_prototypes(given.input)
    prototype = choose_operator(found, given.operator, where=str(given.input), option="-op")
    files = emit_project(prototype, chip=chip_of(given.compute_unit))
    folder: Path = given.output
    if given.mode == ADD:
        if not (folder / "op_host").is_dir():
            raise NewOperatorError(
                where=f"-out {folder}",
                got="-m 1, but no project is there",
                fix="name the folder of a project, or make one with -m 0",
            )
        files = {name: text for name, text in files.items() if "/" in name}
    existing = [name for name in files if (folder / name).exists()]
    if existing:
        raise NewOperatorError(
            where=f"-out {folder}",
            got=f"{existing[0]} exists already",
            fix="delete the old project, name another folder, or add to it with -m 1",
        )
    write_project(files, folder)
    return folder


def chip_of(unit: str) -> str:
    """Return the family of chips for AddConfig: ascend910b for ai_core-Ascend910B4.

    Raises
    ------
    NewOperatorError
        OPW-A015: the unit is none, or not the AI Core.
    """
    kind, _, model = unit.lower().partition("-")
    match = MODEL.fullmatch(model)
    chip = match[1] if match else model
    if kind != "ai_core" or CHIP.fullmatch(chip) is None:
        raise NewOperatorError(
            where="-c",
            got=repr(unit),
            allowed=("ai_core-ascend910b", "ai_core-ascend910_93", "ai_core-ascend310p", "…"),
            fix="name one AI Core; operators for the AI CPU and for vector cores are not made",
        )
    return chip


if __name__ == "__main__":
    sys.exit(main())
