"""Captured graphs: launches, streams, event edges, memory.

`read` turns the JSON of a capture into the values of `model`; `edges`, `memory` and `measures` are
pure functions on them, `layout` places what is drawn; `text` has what `report` and `svg` both say,
`as_json` is for programs.
"""

from __future__ import annotations

__all__: list[str] = []
