"""The agreement of two results."""

from __future__ import annotations

import cmath

import torch
from torch.utils import _pytree as pytree

# dtype: (relative, absolute). Operators are made of others than on the CPU: the last bits differ.
TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.float32: (1.3e-5, 3e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-5, 3e-5),
    torch.complex128: (1e-7, 1e-7),
}


class DisagreementError(AssertionError):
    """The device's result is not the CPU's."""

    def __init__(self, actual: object, expected: object, *, where: str = "result") -> None:
        super().__init__(f"{where}: got {actual}, but must be {expected}")


def expect_close(
    actual: object,
    expected: object,
    alternative: object = None,
    *,
    device: torch.device,
    values: bool = True,
) -> None:
    """Compare structures of results.

    Parameters
    ----------
    actual
        The device's result.
    expected
        The CPU's result with the same arguments.
    alternative
        The CPU's result computed in float32, where `expected` was computed in 16 bits: it may be
        the better one. None if there is none.
    device
        Where results have to be.
    values
        Compare values too; without, only types, places, shapes and dtypes (random operators).

    Raises
    ------
    AssertionError
        With the first difference.
    """
    got, structure = pytree.tree_flatten(actual)
    wanted, wanted_structure = pytree.tree_flatten(expected)
    others = pytree.tree_leaves(alternative)
    if structure != wanted_structure:
        raise DisagreementError(structure, wanted_structure)
    others = others if len(others) == len(wanted) else [None] * len(wanted)
    for index, (one, two, other) in enumerate(zip(got, wanted, others, strict=True)):
        if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
            expect_close_tensors(f"result {index}", one, two, other, device=device, values=values)
        elif type(one) is not type(two) or (values and not same_value(one, two)):
            raise DisagreementError(one, two, where=f"result {index}")


def same_value(one: object, two: object) -> bool:
    """Compare two results that are no tensors."""
    if isinstance(one, float | complex) and isinstance(two, float | complex):
        relative, absolute = TOLERANCES[torch.float32]
        return cmath.isclose(one, two, rel_tol=relative, abs_tol=absolute) or (
            cmath.isnan(one) and cmath.isnan(two)
        )
    return one == two


def expect_close_tensors(
    where: str,
    actual: torch.Tensor,
    expected: torch.Tensor,
    alternative: object,
    *,
    device: torch.device,
    values: bool,
) -> None:
    """Compare one result."""
    # A result that is not the CPU's, a meta tensor, is not the device's either.
    place = device.type if expected.device.type == "cpu" else expected.device.type
    got = f"{actual.dtype} {list(actual.shape)} on {actual.device.type}"
    wanted = f"{expected.dtype} {list(expected.shape)} on {place}"
    if got != wanted:
        raise DisagreementError(got, wanted, where=where)
    if not values:
        return
    here = actual.detach().cpu()
    try:
        expect_close_values(where, here, expected.detach())
    except AssertionError:
        if not isinstance(alternative, torch.Tensor):
            raise
        expect_close_values(where, here, alternative.detach().to(expected.dtype))


def expect_close_values(where: str, actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare values with the tolerance of their dtype."""
    relative, absolute = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    torch.testing.assert_close(
        actual,
        expected,
        rtol=relative,
        atol=absolute,
        equal_nan=True,
        check_stride=False,
        msg=lambda text: f"{where}: {text}",
    )
