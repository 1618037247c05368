"""Gradients of group normalization that a node does not ask for."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from opwright.graph_engine.kernels.group_normalization import (
    group_norm_grad,
    group_norm_swish_grad,
)

X = torch.arange(24.0).reshape(2, 4, 3)
MEAN, RSTD = torch.ones(2, 2), torch.ones(2, 2)
GAMMA, BETA = torch.ones(4), torch.zeros(4)


@pytest.mark.parametrize("name", ["dgamma", "dbeta"])
def test_gradients_that_are_not_asked_for_are_no_numbers(name: str) -> None:
    choice: dict[str, Any] = {f"{name}_is_require": False}
    found = group_norm_swish_grad(X, MEAN, RSTD, X, GAMMA, BETA, num_groups=2, **choice)
    plain = group_norm_grad(X, MEAN, RSTD, X, GAMMA, num_groups=2, **choice)
    for gradients in (found, plain):
        is_open = {
            each: bool(gradient.isnan().all())
            for each, gradient in zip(("dx", "dgamma", "dbeta"), gradients, strict=True)
        }
        assert is_open == {"dx": False, "dgamma": False, "dbeta": False} | {name: True}
