"""Changes of good arguments, one at a time, to such as an operator may have to refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.tensors import replace_tensors, tensor_arguments, tensors_by_place
from opwright.kit.declare.rules import dtype_source
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["Bad", "changes"]

LARGE = 4096


@dataclass(frozen=True, slots=True)
class Bad:
    """Arguments that must be refused.

    Parameters
    ----------
    what
        What is wrong with them, as text.
    change
        Makes them of good ones.
    lines
        The same as a script.
    match
        What the error must say; None for anything useful.
    only
        The only column that must refuse them; None for all.
    given
        The attribute that is changed, and its value, if it is one that is.
    is_none
        Whether None is given for a tensor that is not optional.
    is_length
        Whether a list of tensors has another length.
    is_on_cpu
        Whether a tensor is on the CPU and the others on the NPU.
    """

    what: str
    change: Callable[[Values], Values]
    lines: tuple[str, ...] = ()
    match: str | None = None
    only: str | None = None
    given: tuple[str, Any] | None = None
    is_none: bool = False
    is_length: bool = False
    is_on_cpu: bool = False

    @property
    def keeps_tensors(self) -> bool:
        """Whether it changes an attribute, or how many tensors there are, and no tensor."""
        return self.given is not None or self.is_length

    def sample(self, good: Sample) -> Sample:
        """Return the sample that the arguments are of, as far as it can be said."""
        if self.given is None:
            return good
        return replace(good, values=tuple(({**dict(good.values), **dict([self.given])}).items()))


def changes(subject: Subject, values: Values) -> Iterator[Bad]:
    """Yield changes of arguments, good or bad."""
    names = tensor_arguments(subject.schema, values)
    for name in names:
        argument = subject.schema.argument(name)
        assert argument is not None
        if argument.type.is_tensor and not argument.type.optional:
            yield Bad(
                f"None for {name!r}",
                lambda values, name=name: {**values, name: None},  # type: ignore[misc]
                (f"values[{name!r}] = None",),
                is_none=True,
            )
    for together in find_equal_dtypes(subject, names):
        yield from dtype_changes(*together)
    for name in names:
        yield from dtype_changes(name)
    for name in names:
        yield from shape_changes(name, values)
    for argument in subject.schema.arguments:
        yield from value_changes(argument.name, argument.type.base, values[argument.name])
    for name in names:
        value = values[name]
        if isinstance(value, list | tuple) and len(value):
            yield Bad(
                f"{name!r} with {len(value) - 1} elements",
                lambda values, name=name: {**values, name: list(values[name])[:-1]},  # type: ignore[misc]
                (f"values[{name!r}] = values[{name!r}][:-1]",),
                is_length=True,
            )
    if len(names) > 1:
        for name in names:
            if any(each.ndim for _, each in tensors_by_place(values, [name])):
                yield Bad(
                    f"{name!r} on the CPU, the others on the NPU",
                    lambda values, name=name: replace_tensors(values, [name], lambda _, t: t.cpu()),  # type: ignore[misc]
                    (f"values[{name!r}] = values[{name!r}].cpu()",),
                    only="npu",
                    is_on_cpu=True,
                )


def find_equal_dtypes(subject: Subject, names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the tensors that are declared to have one dtype: a change of one breaks that rule."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(dtype_source(subject.operator.dtypes, name), []).append(name)
    yield from (each for each in groups.values() if len(each) > 1)


def dtype_changes(*names: str) -> Iterator[Bad]:
    """Yield changes of the dtype of tensors."""
    for dtype in (torch.int32, torch.float32, torch.bool, torch.complex64):
        yield Bad(
            f"{' and '.join(map(repr, names))} of {dtype}",
            lambda values, dtype=dtype: replace_tensors(values, names, lambda _, t: t.to(dtype)),  # type: ignore[misc]
            tuple(f"values[{name!r}] = values[{name!r}].to({dtype})" for name in names),
        )


def shape_changes(name: str, values: Values) -> Iterator[Bad]:
    """Yield changes of a tensor's axes and sizes."""
    value = next(each for _, each in tensors_by_place(values, [name]))

    def of(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Values], Values]:
        return lambda values: replace_tensors(values, [name], lambda _, t: change(t))

    yield Bad(
        f"{name!r} with an axis more",
        of(lambda t: t[None]),
        (f"values[{name!r}] = values[{name!r}][None]",),
    )
    if value.ndim and value.shape[0]:
        yield Bad(
            f"{name!r} with an axis less",
            of(lambda t: t[0].clone() if t.ndim else t),
            (f"values[{name!r}] = values[{name!r}][0]",),
        )
    for axis in range(value.ndim):
        yield Bad(
            f"{name!r} with axis {axis} longer by one",
            of(lambda t, axis=axis: lengthen(t, axis)),  # type: ignore[misc]
            (
                f"one = values[{name!r}]",
                f"values[{name!r}] = torch.cat([one, one[{':, ' * axis}:1]], {axis})",
            ),
        )


def lengthen(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """Return a tensor with one element more along an axis."""
    if axis >= tensor.ndim:
        return tensor
    shape = list(tensor.shape)
    shape[axis] += 1
    whole = tensor.new_zeros(shape)
    whole.narrow(axis, 0, tensor.shape[axis]).copy_(tensor)
    return whole


def value_changes(name: str, base: Base, value: object) -> Iterator[Bad]:
    """Yield other values of an attribute."""
    others: list[Any] = []
    if base in {Base.INT, Base.SYMINT} and isinstance(value, int):
        # A kernel that accepts one may take it for a size or a count: it must not fill the memory.
        others = [-1, 0, value + 1, max(value + 2, LARGE)]
    elif base is Base.FLOAT and isinstance(value, int | float):
        others = [-1.0, 0.0, 2.0]
    elif base is Base.STR and isinstance(value, str):
        others = ["no_such_word"]
    for other in others:
        yield Bad(
            f"{name}={other!r}",
            lambda values, other=other: {**values, name: other},  # type: ignore[misc]
            (f"values[{name!r}] = {other!r}",),
            given=(name, other),
        )
