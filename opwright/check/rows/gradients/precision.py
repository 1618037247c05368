"""How far a gradient may be from what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from opwright.check.observe.differentiated import Tensors

__all__ = [
    "describe_gap",
    "describe_inequality",
    "norm",
    "of_terms",
    "rounding",
    "unit_roundoff",
    "value_noise",
]

# By dtype: how much of the size of the terms a sum of them may be off.
SLACK = {torch.float64: 1e-4, torch.float32: 2e-3, torch.float16: 3e-2, torch.bfloat16: 1e-1}
ROUNDINGS = 16  # that a term of a gradient has gone through
VALUE_ROUNDINGS = 4  # that a value has gone through: of inputs, products, sums, results
LEAST_SHARE = 1e-3  # of an input's largest element, below which an element counts as this large


def of_terms(dtype: torch.dtype) -> float:
    """Return how much of the size of its terms a sum may be off."""
    return SLACK.get(dtype.to_real(), 1e-2)


def rounding(
    results: Tensors, grads_of: Tensors, tensor: torch.Tensor, dependent: Tensors
) -> torch.Tensor:
    """Return how large each element of a gradient may be by rounding alone.

    A sum of rounded terms is known up to `n u / (1 - n u)` of their sizes added up, however small
    the sum itself is: n roundings, each of a share u (N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd edition, 2002, sections 3.1 and 4.2). What the terms were nobody knows
    afterwards. By the product rule those of `y = x^p * ...` are `p y / x` times the gradient of y:
    so large they are taken to be. Elements that the input does not change, such as masked ones,
    have no terms.

    Parameters
    ----------
    results, grads_of
        What the operator computed, and the gradients of it.
    tensor
        The input.
    dependent
        By result: which elements the input changes. All do of a result that is not there.
    """
    sizes = tensor.detach().abs().double().cpu()
    largest = find_largest(sizes)
    if not largest:
        return torch.zeros_like(sizes)
    u = max((unit_roundoff(results[name]) for name in grads_of), default=0.0)
    moved = find_largest(terms_that_change(results, grads_of, dependent))
    share = min(ROUNDINGS * u, 0.5)  # of eight bits little is left
    at_least = sizes.nan_to_num(largest).clamp(min=LEAST_SHARE * largest)
    return share / (1 - share) * moved / at_least


def terms_that_change(results: Tensors, grads_of: Tensors, dependent: Tensors) -> torch.Tensor:
    """Return the sizes of the results, each times its gradient, that an input changes: one vector.

    Parameters
    ----------
    dependent
        As of `rounding`.
    """
    found = [torch.zeros(0, dtype=torch.float64)]
    for name, grad in grads_of.items():
        terms = (results[name].detach().cpu() * grad.cpu()).abs().double()
        changed = dependent.get(name)
        known = changed is not None and changed.shape == terms.shape
        found.append((terms[changed] if known else terms).reshape(-1))
    return torch.cat(found)


def value_noise(
    results: Tensors,
    grads_of: Tensors,
    tensor: torch.Tensor,
    grad: torch.Tensor | None,
    dependent: Tensors,
) -> float:
    """Return how far the sum of the results, each times its gradient, may be off by rounding.

    An operator that takes double and computes in single precision rounds its input, its terms and
    its results so: with a step of 1e-4 a difference of two values loses three digits by that.

    Parameters
    ----------
    results, grads_of
        What the operator computed, and the gradients of it.
    tensor, grad
        The input, and the gradient by it.
    dependent
        As of `rounding`: what the input does not change is rounded alike in each value.
    """
    u = max((unit_roundoff(results[name]) for name in grads_of), default=0.0)
    sizes = terms_that_change(results, grads_of, dependent)
    if grad is not None and grad.shape == tensor.shape:
        of_input = (grad.detach().cpu() * tensor.detach().cpu()).abs().double()
        sizes = torch.cat([sizes, of_input.reshape(-1)])
    return VALUE_ROUNDINGS * u * float(sizes[torch.isfinite(sizes)].sum())


def unit_roundoff(tensor: torch.Tensor) -> float:
    """Return the share by which rounding changes numbers in the precision that a tensor shows.

    That of a double tensor is single if its numbers are such: an operator may compute so inside.
    """
    dtype = tensor.dtype.to_real()
    single = torch.complex64 if tensor.is_complex() else torch.float32
    values = tensor.detach()
    if dtype is torch.float64 and bool((values == values.to(single)).all()):
        dtype = torch.float32
    return torch.finfo(dtype).eps / 2


def find_largest(tensor: torch.Tensor) -> float:
    """Return the largest finite number of a tensor, 0 without one."""
    found = tensor[torch.isfinite(tensor)]
    return float(found.max()) if found.numel() else 0.0


def norm(tensor: torch.Tensor) -> float:
    """Return the root of the sum of squares."""
    return float(torch.linalg.vector_norm(tensor.detach().to("cpu", torch.complex128)))


def describe_gap(
    got: torch.Tensor | None,
    exact: torch.Tensor | None,
    same: torch.Tensor | None,
    floor: torch.Tensor | float = 0.0,
) -> str | None:
    """Say how a gradient differs, beyond what the dtype explains; None if it does not.

    Parameters
    ----------
    exact, same
        What is expected in the best precision, and in that of `got`.
    floor
        What each element may be off in any case.
    """
    if exact is None or same is None:
        return None if got is None or not bool(got.any()) else "a gradient; the CPU has none"
    if got is None:
        return "None" if bool(exact.any()) else None
    if got.shape != exact.shape:
        return f"shape {list(got.shape)} instead of {list(exact.shape)}"
    wide = torch.complex128 if exact.is_complex() else torch.float64
    a, b, c = got.detach().cpu().to(wide), exact.detach().to(wide), same.detach().to(wide)
    if not a.numel():
        return None
    slack = of_terms(got.dtype) / 10
    allowed = slack * b.abs().max() + 1e-6 + 4 * (c - b).abs().max() + floor
    equal = (a == b) | (a.isnan() & b.isnan()) | ~torch.isfinite(b)
    bad = ~equal & ~((a - b).abs() <= allowed)
    if not bool(bad.any()):
        return None
    place = int(bad.reshape(-1).nonzero()[0])
    one, other = a.reshape(-1)[place].item(), b.reshape(-1)[place].item()
    factor = f", {one / other:.4g} times as much" if other else ""
    count = int(bad.sum())
    return f"{one!r} instead of {other!r} at element {place}{factor}; {count} of {a.numel()} differ"


def describe_inequality(got: torch.Tensor | None, want: torch.Tensor | None) -> str | None:
    """Say how two gradients of one device differ; None and zeros are one."""
    if got is None or want is None:
        some = want if got is None else got
        if some is None or not bool(some.any()):
            return None
        return "None" if got is None else "a gradient instead of None"
    return describe_gap(got, want.cpu(), want.cpu())
