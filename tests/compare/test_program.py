"""Commands and programs of `opwright compare`, as they are read before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.compare.command import check_modes
from opwright.compare.errors import CommandError, UnknownModeError
from opwright.compare.mark import replace_steps, step
from opwright.compare.processes import parse_command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torch


def test_the_arguments_of_python_and_of_its_file_are_apart(tmp_path: Path) -> None:
    file = tmp_path / "step.py"
    file.touch()
    program = parse_command(["python", "-B", str(file), "--tiny"], "step", 3)
    assert program.python[1:] == ("-B",)
    assert (program.file, program.arguments) == (file, ("--tiny",))


def test_a_command_without_a_file_is_refused() -> None:
    with pytest.raises(CommandError) as raised:
        parse_command(["python", "-m", "train"], "step", 3)
    assert str(raised.value) == (
        "OPW-M001 not a command that runs a Python file\n"
        "  where:   opwright compare\n"
        "  got:     'python -m train'\n"
        "  fix:     write `opwright compare -- python FILE.py` and the file's arguments"
    )


def test_modes_are_compared_in_one_order_and_others_are_refused() -> None:
    assert check_modes(["npugraph_ex", "captured"]) == ("captured", "npugraph_ex")
    with pytest.raises(UnknownModeError) as raised:
        check_modes(["max_autotune"])
    assert str(raised.value) == (
        "OPW-M005 unknown mode\n"
        "  where:   --mode\n"
        "  got:     'max_autotune'\n"
        "  allowed: max-autotune, captured, npugraph_ex, reduce-overhead\n"
        "  fix:     name one of the allowed modes; without --mode all are compared"
    )


def test_a_step_is_replaced_only_as_long_as_somebody_compares() -> None:
    def double(x: int) -> int:
        return 2 * x

    def triple(x: int) -> int:
        return 3 * x

    assert step(double) is double
    with replace_steps(lambda _: triple):
        assert step(double) is triple
    assert step(double) is double
