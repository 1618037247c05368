"""An operator while it is registered: its facts with what the kernels of all keys need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.internals.modes import default_device
from opwright.kit.declare.schema import Base
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import Binder, tensors_in
from opwright.kit.live.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.kit.derive.facts import Autograd, OperatorFacts, Output, SetFacts
    from opwright.kit.live.arguments import Values

__all__ = ["LiveOperator"]


@dataclass(frozen=True, slots=True)
class LiveOperator:
    """An operator of a set.

    Parameters
    ----------
    facts
        Its own facts.
    autograd
        How its gradients are computed: a functional twin has those of the operator it belongs to.
    """

    set: SetFacts
    facts: OperatorFacts
    autograd: Autograd | None
    binder: Binder
    rules: Rules

    @classmethod
    def of(cls, facts: OperatorFacts, of_set: SetFacts) -> LiveOperator:
        """Prepare an operator.

        Raises
        ------
        CppRuleError
            OPW-L003.
        """
        autograd = facts.autograd
        if facts.role == "functional twin":
            mutating = of_set.operator(facts.operator.name)
            autograd = mutating.autograd if mutating else None
        name = f"{of_set.declaration.namespace}::{facts.name}"
        return cls(of_set, facts, autograd, Binder.of(facts.schema), Rules.of(name, facts))

    @property
    def namespace(self) -> str:
        """The namespace of the set."""
        return self.set.declaration.namespace

    @property
    def name(self) -> str:
        """The name with its namespace, for messages."""
        return self.rules.name

    @property
    def where(self) -> str:
        """The place of the declaration, for errors."""
        return f"{self.facts.operator.place}, operator {self.name}"

    @property
    def new_outputs(self) -> tuple[Output, ...]:
        """The outputs that a kernel allocates, in order."""
        return tuple(output for output in self.facts.outputs if output.is_new)

    @property
    def is_composite(self) -> bool:
        """Whether it is made of other operators."""
        return self.facts.python is not None

    @property
    def is_opaque(self) -> bool:
        """Whether it must not be taken apart: it differentiates what writes.

        Autograd needs what was there before a write. A hook keeps it where the reference really
        runs, but not where torch.compile follows it; so that sees one operator.
        """
        python = self.facts.python
        return (
            python is not None and python.kind == "vjp" and bool(self.facts.operator.schema.mutated)
        )

    def overload(self) -> Any:  # noqa: ANN401 - torch.ops has no types
        """Return the operator in torch.ops."""
        return dispatcher.overload(self.namespace, self.facts.name)

    def other(self, name: str) -> Any:  # noqa: ANN401 - torch.ops has no types
        """Return another operator of the set in torch.ops."""
        return dispatcher.overload(self.namespace, name)

    def device(self, values: Values) -> torch.device:
        """Return where a call runs: where its first tensor is, or on what a Device argument says.

        Without either it is torch's default device.
        """
        tensor = next(iter(self.tensors(values)), None)
        if tensor is not None:
            return tensor.device
        for argument in self.facts.schema.arguments:
            if argument.type.base is Base.DEVICE and values[argument.name] is not None:
                return torch.device(values[argument.name])
        return default_device()

    def results(self, new: Mapping[str, Any], values: Values) -> Any:  # noqa: ANN401 - what the schema says
        """Return what the schema returns.

        Parameters
        ----------
        new
            The new outputs by name.
        values
            The arguments; those that were written are results as well.
        """
        return pack(
            [
                new[output.name] if output.name in new else values[output.argument or ""]
                for output in self.facts.returned
            ]
        )

    def tensors(self, values: Values) -> list[torch.Tensor]:
        """Return all tensors among the arguments."""
        return [tensor for value in values.values() for tensor in tensors_in(value)]


def pack(results: Sequence[Any]) -> Any:  # noqa: ANN401 - what the schema says
    """Return results as an operator does: nothing, one, or a tuple."""
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)
