"""Compiled graphs: the GE graph that TorchAir built, beside its FX graph.

`observe` runs in the process that compiles, when a folder for dumps is set; everything else is
`opwright graph`. `messages`, with `ge_proto` and `tensorboard`, reads files; `vertices` and `fx`
turn them into the vertices of `model`, and `read` into graphs; `relate` finds which GE nodes an FX
node became, `layout` places both; `lines` has what is said of each; `svg`, `report` and `as_json`
show the result.
"""

from __future__ import annotations

__all__: list[str] = []
