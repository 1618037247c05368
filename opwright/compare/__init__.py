"""The same step in eager, captured and compiled: `opwright compare` names the first difference.

The program runs once in eager and once in each mode, each time in a process of its own, so that the
step meets the same parameters, seeds and values of Python. Each process writes a record: what the
step was given, what it returned, and each operator with its tensors. The command compares them.

modes      the ways to run a step
record     what a process writes of its run: data, as JSON beside a folder of tensors
command    the command line; processes: starts the program; judge: records -> verdicts
report     verdicts as text and as JSON; script: the script that shows a difference alone
errors     what can keep the command from its work

In the program's process, with torch:

mark       the decorator that marks the step; it does nothing elsewhere
program    runs the program, whose step is found by name
session    the calls of the step: how each one runs, and what is written of it
tensors    tensors -> files; calls: the call of an operator -> its text and its tensors
origin     the line of the program that calls an operator
eager      operators as they run
captured   the step as a captured graph, with copies of each operator's tensors
compiled   the step through a compiler of torch_npu; taps, prefix: graphs that show what is inside
"""

from __future__ import annotations

from opwright.compare.mark import step

__all__ = ["step"]


def __dir__() -> list[str]:
    return __all__
