"""Operators in this process: the handle that `OperatorSet.load` returns."""

from __future__ import annotations

from opwright.kit.live.loading import Loaded

__all__ = ["Loaded"]
