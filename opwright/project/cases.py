"""The samples of a declaration as cases for pytest: what a project's tests are made of.

Examples
--------
>>> import pytest  # doctest: +SKIP
>>> @pytest.mark.parametrize("case", cases(ops), ids=str)  # doctest: +SKIP
... def test_on_npu(case):
...     case.assert_close(case.run("npu"), case.reference())
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.declare.sample import Sample
from opwright.derive import derive
from opwright.live.arguments import Binder, map_tensors, tensors_in
from opwright.live.proof import sample_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.declare.operator_set import OperatorSet
    from opwright.derive.facts import OperatorFacts

__all__ = ["Case", "cases", "error_cases"]


@dataclass(frozen=True, slots=True)
class Case:
    """A sample of an operator. Every call makes its tensors anew, always with the same values.

    Results are all that the operator produces: what it returns, and what it writes without that.

    Parameters
    ----------
    match
        A text of the error that the operator must raise; empty for a sample that it accepts.
    """

    facts: OperatorFacts
    sample: Sample
    index: int
    namespace: str
    match: str = ""

    def __str__(self) -> str:
        return f"{self.facts.name}-{'refused-' if self.match else ''}{self.index}"

    @property
    def operator(self) -> Any:  # noqa: ANN401 - torch.ops has no types
        """The operator in torch.ops."""
        name, _, overload = self.facts.name.partition(".")
        packet = getattr(getattr(torch.ops, self.namespace), name)
        return getattr(packet, overload or "default")

    def arguments(self, device: str = "cpu", *, gradients: bool = False) -> dict[str, Any]:
        """Return the arguments by name on a device; differentiable ones may ask for gradients."""
        values: dict[str, Any] = dict(sample_arguments(self.facts.operator, self.sample))
        inputs = self.facts.autograd.inputs if gradients and self.facts.autograd else ()
        for name, value in values.items():
            placed = map_tensors(lambda tensor: tensor.to(device), value)
            if name in inputs:
                for tensor in tensors_in(placed):
                    tensor.requires_grad_(tensor.is_floating_point())
            values[name] = placed
        return values

    def run(self, device: str, *, backend: str | None = None) -> list[torch.Tensor]:
        """Run the operator, compiled by a back end of torch.compile if one is named."""
        operator = self.operator
        if backend is not None:
            inner = operator

            def whole(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any operator
                return inner(*args, **kwargs)

            torch.compiler.reset()
            operator = torch.compile(whole, backend=backend, fullgraph=True)
        return self.results(operator, self.arguments(device))

    def reference(self) -> list[torch.Tensor]:
        """Run the reference function on the CPU."""
        return self.results(self.reference_function, self.arguments())

    @property
    def reference_function(self) -> Callable[..., Any]:
        """The reference."""
        function = self.facts.operator.reference
        assert function is not None, self.facts.name
        return function

    def results(self, function: Callable[..., Any], values: dict[str, Any]) -> list[torch.Tensor]:
        """Call a function and return what it produced."""
        return [tensor for each in self.produced(function, values).values() for tensor in each]

    def produced(
        self, function: Callable[..., Any], values: dict[str, Any]
    ) -> dict[str, list[torch.Tensor]]:
        """Call a function and return its results by name, each as a list."""
        returned = Binder.of(self.facts.schema).call(function, values)
        own = returned if isinstance(returned, tuple) else (returned,)
        single = len(self.facts.schema.results) == 1
        found = {}
        for output in self.facts.outputs:
            if output.argument is not None:
                value = values[output.argument]
            else:
                assert output.result is not None
                value = returned if single else own[output.result]
            found[output.name] = [*tensors_in(as_list(value))]
        return found

    def gradients(self, device: str) -> list[torch.Tensor | None]:
        """Return the gradients of the differentiable inputs, through the operator."""
        return self.backward(self.operator, device)

    def reference_gradients(self) -> list[torch.Tensor | None]:
        """Return the gradients of the differentiable inputs, through the reference on the CPU."""
        return self.backward(self.reference_function, "cpu")

    def backward(self, function: Callable[..., Any], device: str) -> list[torch.Tensor | None]:
        """Call a function and its backward, with gradients that are always the same."""
        leaves = self.arguments(device, gradients=True)
        # What is written must not be a leaf.
        copies = {name: map_tensors(torch.clone, value) for name, value in leaves.items()}
        assert self.facts.autograd is not None, self.facts.name
        produced = self.produced(function, copies)
        outputs = [each for name in self.facts.autograd.outputs for each in produced[name]]
        generator = torch.Generator().manual_seed(1)
        seeds = [
            torch.rand(each.shape, generator=generator).to(each.device, each.dtype)
            for each in outputs
        ]
        inputs = [
            tensor
            for name in self.facts.autograd.inputs
            for tensor in tensors_in(as_list(leaves[name]))
            if tensor.requires_grad
        ]
        return list(torch.autograd.grad(outputs, inputs, seeds, allow_unused=True))

    def shapes(self, device: str) -> list[tuple[tuple[int, ...], torch.dtype]]:
        """Return the shapes and dtypes of the results on a device."""
        return [(tuple(each.shape), each.dtype) for each in self.run(device)]

    def opcheck(self) -> None:
        """Run torch.library.opcheck on the CPU."""
        binder = Binder.of(self.facts.schema)
        values = self.arguments(gradients=not self.facts.schema.mutated)
        args = tuple(values[name] for name in binder.positional)
        torch.library.opcheck(
            self.operator, args, {name: values[name] for name in binder.keyword_only}
        )

    def assert_close(
        self, got: Sequence[torch.Tensor | None], want: Sequence[torch.Tensor | None]
    ) -> None:
        """Raise unless two lists of tensors agree, within the operator's tolerances."""
        assert len(got) == len(want), f"{self}: {len(got)} tensors, expected {len(want)}"
        for one, other in zip(got, want, strict=True):
            if one is None or other is None:
                assert one is other, f"{self}: one gradient is None"
                continue
            name = str(other.dtype).removeprefix("torch.")
            tolerance = self.facts.operator.tolerances.get(name)
            torch.testing.assert_close(
                one.detach().cpu(),
                other.detach(),
                rtol=tolerance.rtol if tolerance else None,
                atol=tolerance.atol if tolerance else None,
            )


def as_list(value: object) -> list[object]:
    """Return a result as a list."""
    return list(value) if isinstance(value, tuple | list) else [value]


def declared(ops: OperatorSet) -> list[tuple[OperatorFacts, str]]:
    """Return the facts of the operators that the author declared."""
    declaration = ops.freeze()
    return [
        (facts, declaration.namespace)
        for facts in derive(declaration).operators
        if facts.role == "declared"
    ]


def cases(ops: OperatorSet, *, differentiable: bool = False) -> list[Case]:
    """Return a case for each sample, or for those of operators with a backward."""
    return [
        Case(facts, sample, index, namespace)
        for facts, namespace in declared(ops)
        for index, sample in enumerate(facts.operator.samples)
        if facts.autograd is not None or not differentiable
    ]


def error_cases(ops: OperatorSet) -> list[Case]:
    """Return a case for each sample that an operator must refuse."""
    return [
        Case(facts, Sample(sample.values), index, namespace, sample.match)
        for facts, namespace in declared(ops)
        for index, sample in enumerate(facts.operator.errors)
    ]
