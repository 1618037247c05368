"""The object that the decorator of an operator set leaves in place of the reference function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar, cast

from opwright.kit.declare.backward import BackwardFunction
from opwright.kit.declare.to_live import loader_in_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.kit.declare.operator_set import OperatorSet

__all__ = ["DeclaredOperator"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Function = TypeVar("Function", bound="Callable[..., object]")


class DeclaredOperator(Generic[Parameters, Result]):
    """The object that the decorator leaves in place of the reference function.

    Calling it calls the operator, and loads the set if it is not loaded.

    Parameters
    ----------
    owner
        The set.
    name
        The operator's name in the set, with its overload after a dot.
    reference
        The decorated function.
    """

    def __init__(
        self,
        owner: OperatorSet,
        name: str,
        reference: Callable[Parameters, Result],
    ) -> None:
        self.owner = owner
        self.name = name
        self.reference = reference
        self.__doc__ = reference.__doc__
        self.__name__ = name
        self.__wrapped__ = reference
        self._load_in_trace = loader_in_trace(owner)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the operator through PyTorch's dispatcher."""
        self._load_in_trace()
        loaded = self.owner.load()
        return cast("Result", loaded.overload(self.name)(*args, **kwargs))

    def backward(
        self,
        *,
        saves: Sequence[str] = (),
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ) -> Callable[[Function], Function]:
        """Declare the backward function.

        It is called with the gradient of each differentiable output (None if it is not needed),
        then the saved values; it returns one gradient for each differentiable input.

        Parameters
        ----------
        saves
            Names of arguments (their values at the call) and outputs that it needs.
        inputs
            The differentiable inputs in the order of what it returns; all floating-point tensor
            arguments if none are given.
        outputs
            The differentiable outputs; all floating-point outputs if none are given.

        Raises
        ------
        FieldError
            OPW-D009: the operator has a backward already.

        Examples
        --------
        >>> import opwright as ow
        >>> ops = ow.OperatorSet("my_ops")
        >>> @ops.operator("square(Tensor x) -> Tensor")
        ... def square(x):
        ...     return x * x
        >>> @square.backward(saves=("x",))
        ... def _(grad, x):
        ...     return 2 * grad * x
        """

        def declare(function: Function) -> Function:
            backward = BackwardFunction(function, tuple(saves), tuple(inputs), tuple(outputs))
            self.owner.change(self.name, backward=backward)
            return function

        return declare

    def converter(self, function: Function) -> Function:
        """Declare the converter for TorchAir, instead of the derived one.

        It gets the operator's arguments, tensors as those of torchair.ge, and `meta_outputs` if it
        has that parameter; it adds nodes to the graph and returns the results that are new tensors.
        It imports TorchAir itself, since a declaration does not need it.

        Raises
        ------
        FieldError
            OPW-D009: the operator has a converter already.
        """
        self.owner.change(self.name, converter=function)
        return function

    def vmap(self, function: Function) -> Function:
        """Declare the batching rule: `function(info, in_dims, *args) -> (outputs, out_dims)`.

        It is what torch.library.register_vmap takes.

        Raises
        ------
        FieldError
            OPW-D009: the operator has a batching rule already.
        """
        self.owner.change(self.name, vmap=function)
        return function

    def __repr__(self) -> str:
        return f"<operator {self.owner.namespace}::{self.name}>"
