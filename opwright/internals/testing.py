"""The tolerances of torch.testing.assert_close: the public function compares, and returns none."""

from __future__ import annotations

from torch.testing._comparison import default_tolerances

__all__ = ["default_tolerances"]
