"""The samples of a declaration as cases for pytest: what a project's tests are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.kit.declare.sample import Sample
from opwright.kit.derive import derive
from opwright.kit.derive.unspecified import unspecified_outputs
from opwright.kit.live.arguments import Binder, map_tensors, tensors_in
from opwright.kit.live.samples import sample_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.kit.declare.operator_set import OperatorSet
    from opwright.kit.derive.facts import OperatorFacts

__all__ = ["Case", "cases", "error_cases"]


@dataclass(frozen=True, slots=True)
class Case:
    """A sample of an operator. Every call makes its tensors anew, always with the same values.

    Results are all that the operator produces: what it returns, and what it writes without that.
    `str(case)` is the operator's name and the number of the sample.

    Parameters
    ----------
    facts
        What follows from the operator's declaration; `facts.name` is its name.
    sample
        The arguments, as declared.
    index
        The place of the sample among those of its operator, from 0.
    namespace
        Where the operator is in torch.ops.
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
        """Return the arguments by name; what the sample does not give has its default.

        Parameters
        ----------
        device
            Of their tensors.
        gradients
            Whether floating-point tensors of differentiable arguments require gradients.
        """
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
        """Return the results of the operator, in the order of its outputs.

        Parameters
        ----------
        device
            Where its tensors are: "cpu", "npu", "meta".
        backend
            Of torch.compile, with fullgraph=True: "aot_eager", "npugraph_ex"; None for eager.
        """
        operator = self.operator
        if backend is not None:
            inner = operator

            def whole(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any operator
                return inner(*args, **kwargs)

            torch.compiler.reset()
            operator = torch.compile(whole, backend=backend, fullgraph=True)
        return self.results(operator, self.arguments(device))

    def reference(self) -> list[torch.Tensor]:
        """Return the results of the reference function on the CPU."""
        return self.results(self.reference_function, self.arguments())

    @property
    def reference_function(self) -> Callable[..., Any]:
        """The function that was declared with the operator."""
        function = self.facts.operator.reference
        assert function is not None, self.facts.name
        return function

    def results(self, function: Callable[..., Any], values: dict[str, Any]) -> list[torch.Tensor]:
        """Call a function as the operator is called, and return its results.

        Parameters
        ----------
        function
            Takes what the schema says: `lambda x, alpha: ...`, a compiled one, an exported module.
        values
            The arguments by name, as of `arguments`; what the function writes is written in them.
        """
        return [tensor for each in self.produced(function, values).values() for tensor in each]

    def produced(
        self, function: Callable[..., Any], values: dict[str, Any]
    ) -> dict[str, list[torch.Tensor]]:
        """Call a function as `results` does; results by the name of the output, each as a list.

        Outputs whose values the declaration leaves open for these arguments are not among them.
        """
        returned = Binder.of(self.facts.schema).call(function, values)
        own = returned if isinstance(returned, tuple) else (returned,)
        single = len(self.facts.schema.results) == 1
        found = {}
        unspecified = unspecified_outputs(self.facts.outputs, values)
        for output in self.facts.outputs:
            if output.name in unspecified:
                continue
            if output.argument is not None:
                value = values[output.argument]
            else:
                assert output.result is not None
                value = returned if single else own[output.result]
            found[output.name] = [*tensors_in(as_list(value))]
        return found

    def gradients(self, device: str) -> list[torch.Tensor | None]:
        """Return the gradients of the differentiable inputs, through the operator.

        None stands for the gradient of an input that no output depends on.
        """
        return self.backward(self.operator, device)

    def reference_gradients(self) -> list[torch.Tensor | None]:
        """Return the gradients of the differentiable inputs, through the reference on the CPU."""
        return self.backward(self.reference_function, "cpu")

    def backward(self, function: Callable[..., Any], device: str) -> list[torch.Tensor | None]:
        """Call a function and its backward, with gradients that are always the same."""
        leaves = self.arguments(device, gradients=True)
        # A written argument must not be a leaf.
        copies = {name: map_tensors(torch.clone, value) for name, value in leaves.items()}
        assert self.facts.autograd is not None, self.facts.name
        produced = self.produced(function, copies)
        outputs = [each for name in self.facts.autograd.outputs for each in produced.get(name, ())]
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
        """Run torch.library.opcheck on the CPU.

        Raises
        ------
        torch.testing._internal.optests.OpCheckError
            What it finds.
        """
        binder = Binder.of(self.facts.schema)
        values = self.arguments(gradients=not self.facts.schema.mutated)
        args = tuple(values[name] for name in binder.positional)
        torch.library.opcheck(
            self.operator, args, {name: values[name] for name in binder.keyword_only}
        )

    def assert_close(
        self, got: Sequence[torch.Tensor | None], want: Sequence[torch.Tensor | None]
    ) -> None:
        """Raise unless two lists of tensors agree.

        Parameters
        ----------
        got, want
            Results or gradients; those of a device are copied. Shapes and dtypes have to be equal,
            values within the operator's `tolerances` for the dtype of `want`, or else within the
            defaults of torch.testing.assert_close.

        Raises
        ------
        AssertionError
            With the greatest difference and its place.
        """
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


def select_declared(ops: OperatorSet) -> list[tuple[OperatorFacts, str]]:
    """Return the facts of the operators that the author declared."""
    declaration = ops.freeze()
    return [
        (facts, declaration.namespace)
        for facts in derive(declaration).operators
        if facts.role == "declared"
    ]


def cases(ops: OperatorSet, *, differentiable: bool = False) -> list[Case]:
    """Return a case for each sample of a set.

    Parameters
    ----------
    ops
        The set; it need not be loaded.
    differentiable
        Leave out operators without a backward.

    Examples
    --------
    >>> import pytest
    >>> import opwright as ow
    >>> from opwright.project.cases import cases
    >>> ops = ow.OperatorSet("my_ops")
    >>> @ops.operator("twice(Tensor x) -> Tensor", samples=[ow.sample(x=ow.tensor(2, 3))])
    ... def twice(x):
    ...     return 2 * x
    >>> [str(case) for case in cases(ops)]
    ['twice-0']
    >>> @pytest.mark.parametrize("case", cases(ops), ids=str)
    ... def test_on_npu(case):
    ...     case.assert_close(case.run("npu"), case.reference())
    """
    return [
        Case(facts, sample, index, namespace)
        for facts, namespace in select_declared(ops)
        for index, sample in enumerate(facts.operator.samples)
        if facts.autograd is not None or not differentiable
    ]


def error_cases(ops: OperatorSet) -> list[Case]:
    """Return a case for each sample that an operator must refuse.

    Examples
    --------
    >>> @pytest.mark.parametrize("case", error_cases(ops), ids=str)  # doctest: +SKIP
    ... def test_is_refused(case):
    ...     with pytest.raises(Exception, match=re.escape(case.match)):
    ...         case.run("npu")
    """
    return [
        Case(facts, Sample(sample.values), index, namespace, sample.match)
        for facts, namespace in select_declared(ops)
        for index, sample in enumerate(facts.operator.errors)
    ]
