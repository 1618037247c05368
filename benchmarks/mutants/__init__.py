"""Mutants of operators: small faults that a program makes, to measure what a check misses.

mutant       a mutant: which bytes of a source become which
in_python    Python source -> mutants of its expressions and statements
in_declarations  an operator file -> mutants of the rules in its declarations
in_cpp       C++ source -> mutants, by tree-sitter
targets      operators with sources to change, and the declaration that they are checked against
checking     a target and a mutant -> the row that finds it
log          results in a TSV, from which an interrupted run goes on
explanations.tsv  what survived: equivalent or missed, with the reason
"""

from __future__ import annotations

__all__: list[str] = []
