# ruff: noqa: INP001 (a script, at the place that torch_npu expects)
"""The twin's msprof, where torch_npu looks for CANN's. What it does is in opwright/twin/msprof."""

from __future__ import annotations

import sys
from pathlib import Path

# This file lies in <site-packages>/opwright/cann/tools/profiler/profiler_tool/analysis/msprof.
sys.path.insert(0, str(Path(__file__).resolve().parents[7]))

from opwright.twin.msprof.command import main

sys.exit(main())
