"""How the gradients of an operator are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Backward", "BackwardCall", "BackwardFunction", "BackwardReference", "Formula"]


@dataclass(frozen=True, slots=True)
class BackwardReference:
    """Differentiate the reference function: it is run again under autograd.

    Parameters
    ----------
    inputs
        The differentiable inputs; empty for all floating-point tensor arguments.
    """

    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BackwardFunction:
    """A Python function from the gradients and saved values to one gradient for each input.

    Parameters
    ----------
    function
        Called with the gradient of each differentiable output (None if it is not needed), then the
        saved values; returns one gradient per input (a single tensor if there is one input), None
        for one that is zero.
    saves
        Names of arguments and outputs.
    inputs
        The differentiable inputs in the order of what it returns; empty for all floating-point
        tensor arguments.
    outputs
        The differentiable outputs in the order of their gradients; empty for all floating-point
        outputs.
    """

    function: Callable[..., object]
    saves: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Formula:
    """The gradients of some inputs: an expression, as in derivatives.yaml.

    Parameters
    ----------
    inputs
        The inputs that it gives the gradients of, in order.
    expression
        A call of an operator, or arithmetic. It may name arguments, outputs (`result`, `result1`,
        ... or their names) and gradients (`grad`, `grads[i]`, or `grad_` and an output's name).
    """

    inputs: tuple[str, ...]
    expression: str


@dataclass(frozen=True, slots=True)
class BackwardCall:
    """Formulas that together give the gradients."""

    formulas: tuple[Formula, ...]


Backward: TypeAlias = BackwardReference | BackwardFunction | BackwardCall
