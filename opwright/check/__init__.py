"""Proof that an operator's deliverables agree: `opwright check`.

What is checked is a matrix: rows are what must hold, columns are ways to run, over samples that are
solved from the declaration. A cell has run the operator, or says why it did not.

The command, its reports and pytest's items need no torch and run no code of the user:

command        the command line; session: a run of it, from processes to exit code
request        what is to be checked, as the command line and the workers have it
selection      which operators and rows the user asks for
processes      where operators run: server and workers (torch), and the command's side of them
progress       what is going on while a run lasts
known          what is known before a run: the ledger of failures, the schemas of the last release
finding        a fault, as it is reported; outcome: what became of a cell; record: a whole run
as_json        outcomes and runs as JSON, and back
report         a run as text in a terminal, and as a page; `files`: where it is written
repro          failures as scripts that run alone; its `replay` is what they import (torch)
pytest_plugin  `pytest --opwright-check`
errors         what can keep the command from its work

What examines runs in a worker, and needs torch:

target         what the user names -> subjects
subject        an operator under check
samples        a declaration -> samples of its arguments, large to small; and samples -> tensors
row            what a row is (no torch); rows: one module or package per row, and the table of all
observe        what rows look with, and share: other ways to run, memory, tensors, deviations
row_context    what a row works with: samples, calls, where it reports
examine        subjects and rows -> outcomes, in this process
"""

from __future__ import annotations

__all__: list[str] = []
