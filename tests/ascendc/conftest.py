"""The twin before torch, which loads torch_npu."""

from __future__ import annotations

import opwright.twin  # noqa: F401
