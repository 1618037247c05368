"""NPU graphs, printed or drawn.

captured         what NPUGraph captured: launches, streams, event edges, memory
compiled         what TorchAir compiled: the GE graph beside its FX graph
shown            either kind -> text, drawing, page, JSON
printing, drawing, page, text, repeats    what both kinds are shown with
folder, collect  a command on the twin -> its graphs
rewrites         in the process that captures: name what torch_npu has changed
command          the verb
errors
"""

from __future__ import annotations

__all__: list[str] = []
