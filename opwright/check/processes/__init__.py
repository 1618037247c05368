"""The processes of `opwright check`: what an operator does to its process harms no other.

    command (no torch)  --control socket-->  server (torch and torch_npu imported, nothing else)
         |                                      | fork
         +------- channel: JSON lines ------ worker (loads the target, examines cells)

On the side of the command:

client     server and workers, as the command sees them
pool       cells -> outcomes
limits     memory of processes
lost       what became of a cell whose process did not survive it
ended      how a process ended, in words
tail       the beginning and the end of what a process printed

On both sides:

channel    messages as JSON, between two processes
kinds      the kinds of processes, and the variables that make them
note       what a worker is at, in memory that outlives it
system     what processes agree on, and what Linux offers to one and Python does not

On the side of the operators, with torch:

server     the process that is forked for each worker
worker     the process that examines
clean      the state of a process that a cell may not change for the next
"""

from __future__ import annotations

__all__: list[str] = []
