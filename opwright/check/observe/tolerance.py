"""How far results may be from what is expected, and how a difference is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.sample import Tolerance

__all__ = ["difference"]


def difference(
    got: torch.Tensor, want: torch.Tensor, tolerances: Mapping[str, Tolerance]
) -> str | None:
    """Say how a tensor differs from what is expected; None if it does not.

    Parameters
    ----------
    tolerances
        By dtype of `want`; torch.testing's for others. Integers and bool must be equal.
    """
    dtype = str(want.dtype).removeprefix("torch.")
    given = tolerances.get(dtype)
    try:
        torch.testing.assert_close(
            got.detach().cpu(),
            want.detach().cpu(),
            rtol=None if given is None else given.rtol,
            atol=None if given is None else given.atol,
            equal_nan=True,
        )
    except AssertionError as error:
        return " ".join(str(error).split())
    return None
