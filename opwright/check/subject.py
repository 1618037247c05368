"""A subject: one operator under check, with its declaration and its overload in torch.ops.

A target has any number of them. Reports know a subject as `CheckedOperator` of `record`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.tensors import tensors_by_place
from opwright.kit.derive.unspecified import unspecified_outputs
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import Binder
from opwright.kit.live.reference import new_results
from opwright.kit.live.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.live.arguments import Values

__all__ = ["Subject", "flat", "pack_results"]

# Kernels that run on the CPU.
CPU_KEYS = ("CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An operator under check.

    Parameters
    ----------
    namespace
        Where it is in `torch.ops`.
    operator
        What is declared of it. Of an operator that nobody describes this is its schema alone:
        no reference, no rules, no samples.
    facts, of_set
        What follows from the declaration; None for an operator that nobody describes, of which
        nothing but its schema can be expected.
    is_foreign
        Whether another library registered it: the live tier did not.
    is_specified
        Whether the declaration is the one that the library was made from or written for, and no
        description of what exists already (`OperatorSet(..., existing=True)`). What it refuses,
        the library has to refuse.
    """

    namespace: str
    operator: Operator
    facts: OperatorFacts | None = None
    of_set: SetFacts | None = None
    is_foreign: bool = False
    is_specified: bool = True

    @property
    def name(self) -> str:
        """The name with namespace and overload."""
        return f"{self.namespace}::{self.operator.name}"

    @property
    def schema(self) -> Schema:
        """The schema."""
        return self.operator.schema

    @property
    def place(self) -> str:
        """The file and line that say what the operator is."""
        return str(self.operator.place)

    @property
    def where(self) -> str:
        """The place and the name, for messages."""
        return f"{self.place}, operator {self.name}"

    @property
    def overload(self) -> Any:  # noqa: ANN401 - torch.ops has no types
        """The operator in torch.ops."""
        return dispatcher.overload(self.namespace, self.operator.name)

    @property
    def is_own_reference(self) -> bool:
        """Whether nobody describes what it computes, but its library has a kernel for the CPU."""
        is_described = self.operator.reference is not None or not self.is_foreign
        return not is_described and self.runs_on_cpu

    @property
    def reference(self) -> Callable[..., object] | None:
        """The function that says what it computes on the CPU."""
        if self.is_own_reference:
            overload: Callable[..., object] = self.overload
            return overload
        return self.operator.reference

    @property
    def rules(self) -> Rules | None:
        """The declared rules for the arguments of a call."""
        return None if self.facts is None else Rules.of(self.name, self.facts)

    @property
    def is_seeded(self) -> bool:
        """Whether it draws from torch's generators."""
        tags = self.overload.tags
        return torch.Tag.nondeterministic_seeded in tags or bool(self.schema.generators)

    @property
    def is_declared_nondeterministic(self) -> bool:
        """Whether two calls may differ in their last bits."""
        is_tagged = torch.Tag.nondeterministic_bitwise in self.overload.tags
        return is_tagged or not self.operator.deterministic

    @property
    def runs_on_cpu(self) -> bool:
        """Whether it has a kernel for the CPU, or one for all devices."""
        return any(dispatcher.has_kernel(self.overload, key) for key in CPU_KEYS)

    def call(self, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - what the schema says
        """Call the operator with arguments by name."""
        return Binder.of(self.schema).call(self.overload, values)

    def expected(self, values: Values) -> dict[str, Any]:
        """Run the reference and return all that the operator computes, by name.

        These are its new results, then the arguments that it writes. The reference writes those of
        `values`. Results whose values are unspecified for these arguments are left out.
        """
        assert self.reference is not None
        returned = Binder.of(self.schema).call(self.reference, values)
        results = new_results(self.operator, returned, values, where=self.where)
        open_ones = self.unspecified(values)
        return self.written(values) | {n: v for n, v in results.items() if n not in open_ones}

    def computed(self, returned: object, values: Values) -> dict[str, Any]:
        """Return what a call of the operator computed, by name, as `expected` does.

        Parameters
        ----------
        returned
            What the call returned.
        values
            Its arguments, which it may have written.
        """
        names = self.schema.output_names()
        results = dict(zip(names, pack_results(returned, len(names)), strict=True))
        arguments = [self.schema.aliased_argument(result) for result in self.schema.results]
        open_ones = self.unspecified(values)
        return self.written(values) | {
            name: results[name]
            for name, argument in zip(names, arguments, strict=True)
            if name not in open_ones and (argument is None or not argument.is_written)
        }

    def unspecified(self, values: Values) -> frozenset[str]:
        """Return the results that may hold anything after a call with these arguments."""
        outputs = () if self.facts is None else self.facts.outputs
        return unspecified_outputs(outputs, values)

    def written(self, values: Values) -> dict[str, Any]:
        """Return the arguments that the schema says are written, by name."""
        return {argument.name: values[argument.name] for argument in self.schema.mutated}


def pack_results(returned: object, count: int) -> tuple[object, ...]:
    """Return the results of an operator that has `count` of them as a tuple."""
    if count == 0:
        return ()
    if count == 1:
        return (returned,)
    assert isinstance(returned, tuple | list)
    return tuple(returned)


def flat(results: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Return the tensors of named values; those of a list are called `name[index]`.

    >>> list(flat({"x": torch.ones(1), "ys": [None, torch.ones(1)]}))
    ['x', 'ys[1]']
    """
    return dict(tensors_by_place(results, results))
