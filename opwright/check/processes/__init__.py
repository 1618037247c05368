"""The processes of `opwright check`: what an operator does to its process harms no other.

    command (no torch)  --control socket-->  server (torch and torch_npu imported, nothing else)
         |                                      | fork
         +------- channel: JSON lines ------ worker (loads the target, examines cells)

channel    messages as JSON, between two processes
note       what a worker is at, in memory that outlives it
server     the process that is forked for each worker
worker     the process that examines
clean      the state of a process that a cell may not change for the next
ended      how a process ended -> what became of its cell
limits     memory of processes
client     server and workers, as the command sees them
pool       cells -> outcomes
"""

from __future__ import annotations

__all__: list[str] = []
