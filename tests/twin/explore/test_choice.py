"""The value of `opwright run --order`, and the options beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.twin.explore.choice import (
    Explore,
    OrderChoiceError,
    OrderOptionError,
    Replay,
    check_options,
    parse_choice,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_seeds_and_counts_are_read(tmp_path: Path) -> None:
    file = tmp_path / "order"
    file.touch()
    assert parse_choice("races") == "races"
    assert parse_choice("explore") == Explore(first=0, count=10)
    assert parse_choice("explore:17") == Explore(first=17, count=10)
    assert parse_choice("explore:17,1") == Explore(first=17, count=1)
    assert parse_choice(f"replay:{file}") == Replay(file=file)


@pytest.mark.parametrize(
    "value",
    ["", "explode", "explore:", "explore:x", "explore:1,0", f"explore:{2**31}", "replay:no"],
)
def test_another_order_is_refused(value: str) -> None:
    with pytest.raises(OrderChoiceError) as raised:
        parse_choice(value)
    assert str(raised.value) == (
        "OPW-T070 unknown order\n"
        "  where:   --order\n"
        f"  got:     {value!r}\n"
        "  allowed: races, explore, explore:SEED, explore:SEED,COUNT, replay:FILE\n"
        "  fix:     write --order alone to check one run, or --order=explore to run in several "
        "orders"
    )


def test_options_that_exclude_each_other_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "order"
    check_options(None, sync=True, real=True, repro=None)
    check_options("races", sync=True, real=True, repro=None)
    check_options(Explore(), sync=False, real=False, repro=file)
    with pytest.raises(OrderOptionError) as raised:
        check_options(Explore(), sync=True, real=False, repro=None)
    assert str(raised.value) == (
        "OPW-T071 options that exclude each other\n"
        "  where:   --order\n"
        "  got:     --sync, with which there is only one order\n"
        "  fix:     leave one of the two out"
    )
    with pytest.raises(OrderOptionError, match="--real: the order of a real NPU cannot be chosen"):
        check_options(Explore(), sync=False, real=True, repro=None)
    with pytest.raises(OrderOptionError, match="no order to write"):
        check_options("races", sync=False, real=False, repro=file)
    with pytest.raises(OrderOptionError, match="--repro"):
        check_options(Explore(), sync=False, real=False, repro=tmp_path / "absent" / "order")
