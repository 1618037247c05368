"""What a captured NPU graph holds: launches, streams, event edges and memory, printed or drawn.

`read` turns the JSON of a capture into the values of `model`; `edges`, `memory` and `repeats` are
pure functions on them; `report` and `svg` show the result; `collect` runs a command on the twin and
gathers its captures; `command` is the verb.
"""

from __future__ import annotations

__all__: list[str] = []
