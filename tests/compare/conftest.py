"""Tests of opwright compare: the twin comes before torch, whatever a test imports first."""

from __future__ import annotations

import opwright.twin  # noqa: F401
