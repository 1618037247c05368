"""How far a tensor is from what is expected, as data: where it is worst, and what was allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.internals.testing import default_tolerances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.sample import Tolerance
    from opwright.kit.declare.schema import Schema

__all__ = ["Deviation", "deviation", "write_pick"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """The element that is furthest from what is expected, relative to what is allowed.

    Parameters
    ----------
    error, allowed
        |got - want|, and atol + rtol * |want|; an error is infinite where one side is NaN.
    wrong, count
        How many elements are beyond what is allowed, and how many there are.
    text
        What is wrong where sizes or dtype are: nothing else is compared then.
    """

    index: tuple[int, ...] = ()
    got: float = 0.0
    want: float = 0.0
    error: float = 0.0
    allowed: float = 0.0
    wrong: int = 0
    count: int = 0
    text: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether anything is beyond what is allowed."""
        return bool(self.wrong or self.text)

    def __str__(self) -> str:
        if self.text:
            return self.text
        place = f" at {list(self.index)}" if self.index else ""
        return (
            f"{self.got!r}{place} instead of {self.want!r}: off by {self.error:.3g}, "
            f"{self.allowed:.3g} is allowed; {self.wrong} of {self.count} elements are wrong"
        )

    def line(self, expression: str) -> tuple[str, ...]:
        """Return the lines of a script that raise while the deviation is there.

        Parameters
        ----------
        expression
            The tensor, in Python.
        """
        if self.text:
            return ()
        at = "".join(f"[{each}]" for each in self.index)
        lines = (f"got = {expression}{at}.item()",)
        if math.isnan(self.want):
            return (*lines, "assert got != got, got  # NaN")
        if math.isinf(self.want):
            return (*lines, f"assert got == float('{self.want}'), got")
        return (*lines, f"assert abs(got - {self.want!r}) <= {self.allowed!r}, got")


def deviation(
    got: torch.Tensor,
    want: torch.Tensor,
    tolerances: Mapping[str, Tolerance],
    *,
    scale: float = 1.0,
) -> Deviation:
    """Compare a tensor with what is expected.

    NaN equals NaN and an infinity itself; integers and bool must be equal.

    Parameters
    ----------
    tolerances
        By dtype of `want`; torch.testing's for others.
    scale
        What the absolute tolerance is multiplied with.
    """
    got, want = got.detach().cpu(), want.detach().cpu()
    if got.shape != want.shape:
        return Deviation(text=f"sizes {list(got.shape)} where {list(want.shape)} are expected")
    if got.dtype != want.dtype:
        return Deviation(text=f"{got.dtype} where {want.dtype} is expected")
    if not want.numel():
        return Deviation()
    return find_worst(got, want, *tolerance_of(want.dtype, tolerances, scale))


def tolerance_of(
    dtype: torch.dtype, tolerances: Mapping[str, Tolerance], scale: float
) -> tuple[float, float]:
    """Return the relative and the absolute tolerance for a dtype."""
    given = tolerances.get(str(dtype).removeprefix("torch."))
    rtol, atol = default_tolerances(dtype) if given is None else (given.rtol, given.atol)
    return rtol, atol * scale


def find_worst(got: torch.Tensor, want: torch.Tensor, rtol: float, atol: float) -> Deviation:
    """Return the element that is furthest beyond what is allowed."""
    wide = torch.complex128 if want.is_complex() else torch.float64
    exact = got == want
    if want.is_floating_point() or want.is_complex():
        exact |= got.isnan() & want.isnan()
    far = torch.where(exact, 0.0, (got.to(wide) - want.to(wide)).abs()).nan_to_num(
        nan=math.inf, posinf=math.inf
    )
    allowed = (atol + rtol * want.to(wide).abs()).nan_to_num(nan=0.0, posinf=0.0)
    wrong = far > allowed
    if not (want.is_floating_point() or want.is_complex()):
        allowed = torch.zeros_like(far)
        wrong = ~exact  # float64 does not hold all of int64
    beyond = torch.where(wrong, far / allowed.clamp(min=torch.finfo(torch.float64).tiny), 0.0)
    place = int((beyond if wrong.any() else far).argmax())
    index = tuple(int(each) for each in torch.unravel_index(torch.tensor(place), want.shape))
    return Deviation(
        index=index,
        got=got[index].item(),
        want=want[index].item(),
        error=float(far[index]),
        allowed=float(allowed[index]),
        wrong=int(wrong.sum()),
        count=want.numel(),
    )


def write_pick(schema: Schema, label: str) -> str:
    """Return the Python for something that a call computed: of `returned`, or of `values`.

    Parameters
    ----------
    label
        Its name, with the index in a list.
    """
    name, bracket, rest = label.partition("[")
    if any(argument.name == name for argument in schema.mutated):
        return f"values[{name!r}]{bracket}{rest}"
    names = schema.output_names()
    of_call = "returned" if len(names) == 1 else f"returned[{names.index(name)}]"
    return f"{of_call}{bracket}{rest}"
