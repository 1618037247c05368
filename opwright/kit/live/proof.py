"""Facts that only running the reference shows: whether it aliases and writes as the schema says.

The reference runs on CPU tensors made from the declared samples. Nothing is registered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import torch

from opwright.errors import OpwrightError
from opwright.kit.live.errors import (
    AliasedResultError,
    NotWrittenError,
    OtherResultError,
    ReferenceResultError,
    WrittenArgumentError,
)
from opwright.kit.live.samples import sample_arguments
from opwright.kit.shipped.support import flat
from opwright.kit.validate import InvalidDeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.declare.sample import Sample
    from opwright.kit.declare.schema import Argument, Result

__all__ = ["prove_aliasing", "prove_declaration"]

Tensors: TypeAlias = tuple[torch.Tensor, ...]


def prove_aliasing(
    operator: Operator, samples: Sequence[Sample] | None = None, *, namespace: str = ""
) -> None:
    """Run the reference and compare what it aliases and writes with the schema.

    Parameters
    ----------
    samples
        The operator's own if None. An operator without samples or reference has nothing to prove.
    namespace
        That of the operator set, for messages.

    Raises
    ------
    AliasedResultError, WrittenArgumentError, NotWrittenError, OtherResultError
        OPW-D057 to OPW-D060.
    ReferenceResultError
        OPW-L010: it returns another number of results.
    """
    if operator.reference is None:
        return
    name = f"{namespace}::{operator.name}" if namespace else operator.name
    where = f"{operator.place}, operator {name}"
    given: set[str] = set()
    written: set[str] = set()
    for index, sample in enumerate(operator.samples if samples is None else samples):
        run = Run(operator, sample_arguments(operator, sample), f"{where}, samples[{index}]")
        written |= run.prove()
        given |= {
            label for label, tensors in run.tensors.items() if any(t.numel() for t in tensors)
        }
    for argument in operator.schema.mutated:
        if argument.name in given - written:
            raise NotWrittenError(
                where=f"{where}, samples",
                got=f"{argument}, which no sample changes",
            )


def prove_declaration(declaration: Declaration) -> None:
    """Run the reference of each operator that has samples.

    Raises
    ------
    InvalidDeclarationError
        OPW-D010: what `prove_aliasing` raises, for all operators in one.
    """
    errors: list[OpwrightError] = []
    for operator in declaration.operators:
        try:
            prove_aliasing(operator, namespace=declaration.namespace)
        except OpwrightError as error:
            errors.append(error)
    if errors:
        raise InvalidDeclarationError(
            where=f"{declaration.place}, operator set {declaration.namespace}", errors=errors
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One call of the reference.

    Parameters
    ----------
    arguments
        Values by name.
    where
        The place, for messages.
    """

    operator: Operator
    arguments: Mapping[str, object]
    where: str

    @property
    def tensors(self) -> dict[str, Tensors]:
        """The tensors among the arguments, by name."""
        return {name: tuple(flat(value)) for name, value in self.arguments.items()}

    def prove(self) -> set[str]:
        """Call the reference, compare, and return the names of the arguments that it wrote."""
        before = {
            name: [(each.clone(), each._version) for each in tensors]  # noqa: SLF001 - the public counter of autograd's own error messages
            for name, tensors in self.tensors.items()
        }
        results = self.results(self.call())
        written = {
            name
            for name, tensors in self.tensors.items()
            for tensor, (copy, version) in zip(tensors, before[name], strict=True)
            if tensor._version != version or not same_bytes(tensor, copy)  # noqa: SLF001 - as above
        }
        annotated = {argument.name for argument in self.operator.schema.mutated}
        for name in sorted(written - annotated):
            argument = self.operator.schema.argument(name)
            raise WrittenArgumentError(where=self.where, got=f"{argument}, which it writes")
        self.compare(results)
        return written

    def call(self) -> object:
        """Call the reference as the operator is called: keyword-only arguments by name."""
        reference = cast("Callable[..., object]", self.operator.reference)
        positional = [a.name for a in self.operator.schema.arguments if not a.keyword_only]
        keywords = {name: value for name, value in self.arguments.items() if name not in positional}
        try:
            return reference(*(self.arguments[name] for name in positional), **keywords)
        except Exception as error:
            # As BaseException.add_note does, which older versions of CPython lack (PEP 678).
            notes = vars(error).setdefault("__notes__", [])
            notes.append(f"raised by the reference: {self.where}")
            raise

    def results(self, returned: object) -> list[tuple[Result, object]]:
        """Return each result that was returned with its value."""
        schema = self.operator.schema
        fresh = [result for result in schema.results if result.alias is None]
        values = list(returned) if isinstance(returned, tuple) else [returned]
        if returned is None and not fresh:
            return []
        for expected in (list(schema.results), fresh):
            if len(expected) == len(values):
                return list(zip(expected, values, strict=True))
        raise ReferenceResultError(
            where=self.where, got=f"{len(values)} values", allowed=[str(len(schema.results))]
        )

    def compare(self, results: Sequence[tuple[Result, object]]) -> None:
        """Compare what results share with what the schema says."""
        owners = {
            memory(tensor): f"argument {name!r}"
            for name, tensors in self.tensors.items()
            for tensor in tensors
        }
        for index, (result, value) in enumerate(results):
            argument = self.operator.schema.aliased_argument(result)
            place = f"{self.where}, result {result.name or index}"
            if argument is not None:
                self.compare_argument(argument, value, place)
                continue
            for tensor in flat(value):
                owner = owners.setdefault(memory(tensor), f"result {result.name or index}")
                if owner != f"result {result.name or index}":
                    raise AliasedResultError(where=place, got=f"the memory of {owner}")

    def compare_argument(self, argument: Argument, value: object, place: str) -> None:
        """Check that a result that is annotated as an argument is that argument."""
        wanted = self.tensors[argument.name]
        got = tuple(flat(value))
        is_same = len(wanted) == len(got) and all(
            memory(a) == memory(b) and a.shape == b.shape and a.stride() == b.stride()
            for a, b in zip(wanted, got, strict=True)
        )
        if not is_same:
            raise OtherResultError(where=place, got="another tensor", allowed=[argument.name])


def memory(tensor: torch.Tensor) -> int:
    """Return what identifies a tensor's storage, also one without bytes."""
    return int(tensor.untyped_storage()._cdata)  # noqa: SLF001 - two empty storages have one data_ptr


def same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Return whether two tensors have the same bits, NaN included."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    # A clone has stride 1 also where an axis of one element had another one, which bytes need.
    sides = [
        each.detach().clone(memory_format=torch.contiguous_format).view(-1).view(torch.uint8)
        for each in (left, right)
    ]
    return torch.equal(*sides)
