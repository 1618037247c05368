"""Proof that an operator's deliverables agree: `opwright check`.

What is checked is a matrix: rows are what must hold, columns are ways to run, over samples that are
solved from the declaration. A cell has run the operator, or says why it did not.

The command, its reports and pytest's items need no torch and run no code of the user:

command        the command line; session: the run, from the first process to the exit code
request        the target and all that loading it takes; the command and its workers share it
selection      which operators and rows the user asks for
processes      where operators run: server and workers (torch), and the command's side of them
progress       what is going on while a run lasts
known          what is known before a run: the ledger of failures, the schemas of the last release
finding        one fault; outcome: what became of a cell, with its findings
record         a whole run, with its outcomes: all that reports are made from
as_json        outcomes and runs as JSON, and back
report         a run as text in a terminal, and as a page; `files`: where it is written
repro          failures as scripts that run alone; its `replay` is what they import (torch)
pytest_plugin  `pytest --opwright-check`
errors         what can keep the command from its work

What examines runs in a worker, and needs torch:

target         a file, module, library or namespace that the user names -> its subjects
subject        one operator under check
samples        a declaration -> samples of its arguments, large to small; and samples -> tensors
row            what a row is (no torch); rows: one module or package per row, and the table of all
observe        what rows look with, and share: other ways to run, memory, tensors, deviations
row_context    what a row works with: samples, calls, where it reports
examine        subjects and rows -> outcomes, in this process
"""

from __future__ import annotations

__all__: list[str] = []
