"""`opwright run --order=explore`: run a program in many orders of its streams' tasks.

`choice` reads the option, `events` what a process has logged, `compare` and `minimize` are pure,
`processes` starts programs, `command` is the whole, `report` its words. native/runtime/explore
chooses the order.
"""

from __future__ import annotations

from opwright.twin.explore.choice import check_options, parse_choice
from opwright.twin.explore.command import run_orders

__all__ = ["check_options", "parse_choice", "run_orders"]
