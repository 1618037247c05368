"""Proof that an operator's deliverables agree: `opwright check`.

What is checked is a matrix: rows are what must hold, columns are ways to run, over samples that are
solved from the declaration. A cell has run the operator, or says why it did not.

subject     an operator under check; target: what a user names -> subjects
samples     a declaration -> samples of its arguments, large to small; and samples -> tensors
row         what a row is; rows: one file per row, and the table of all
bench       what a row works with: samples, calls, where it reports
finding     a fault, as it is told; outcome: what became of a cell
examine     subjects and rows -> outcomes, in this process

Everything here but `target` needs torch; torch_npu is imported by the process that checks.
"""

from __future__ import annotations

__all__: list[str] = []
