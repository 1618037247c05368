"""Where a program on the twin writes what it captures and compiles."""

from __future__ import annotations

__all__ = ["FOLDER_VARIABLE"]

# Read by libascendcl (native/runtime/settings.cpp), for the JSON of each capture that ends, and by
# opwright.graph_report.compiled.observe, for each GE graph that is compiled.
FOLDER_VARIABLE = "OPWRIGHT_GRAPH_DUMP"
