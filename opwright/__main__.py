"""`python -m opwright` is the `opwright` command."""

from __future__ import annotations

from opwright.cli import main

main()
