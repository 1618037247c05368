"""An operator's derivative in C++: the operator, its backward, the values it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.derive.facts import Gradient, SavedArgument, SavedOutput
from opwright.kit.emit.cpp.names import pascal
from opwright.kit.expressions.errors import CppRuleError

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import Autograd, BackwardArgument, Output
    from opwright.kit.emit.cpp.operators import OperatorCode

__all__ = ["Derivative", "count_name", "value_name"]


class Derivative:
    """The derivative of one operator.

    Parameters
    ----------
    code, backward
        The operator, and the operator that is its backward.
    has_formulas
        Whether the node computes formulas itself, and does not call the operator.
    """

    def __init__(
        self, code: OperatorCode, backward: OperatorCode, *, has_formulas: bool = False
    ) -> None:
        autograd = code.facts.autograd
        assert autograd is not None
        optional = [a.name for a in code.facts.schema.mutated if a.type.optional]
        if optional:
            raise CppRuleError(
                where=f"{code.where}, backward",
                got=f"{optional[0]!r}, a written argument that may be None",
                fix="make it a tensor, leave out the backward, or use the operator live only",
            )
        lists = {o.name for o in code.facts.outputs if o.type.is_list}
        kept = [v.name for v in autograd.arguments if isinstance(v, SavedOutput)]
        listed = [name for name in kept if name in lists]
        listed += [name for name in autograd.outputs if has_formulas and name in lists]
        if listed:
            raise CppRuleError(
                where=f"{code.where}, backward",
                got=f"{listed[0]!r}, a list of tensors, as a saved output or in a formula",
                fix="save the arguments and compute it again in a backward function",
            )
        self.code = code
        self.backward = backward
        self.has_formulas = has_formulas
        self.autograd: Autograd = autograd
        self.node = f"{pascal(code.name)}Node"
        self.saved = {
            value: member_name(code, value)
            for value in dict.fromkeys(autograd.arguments)
            if not isinstance(value, Gradient)
        }

    def argument(self, name: str) -> Argument:
        """Return an argument of the operator."""
        return self.code.facts.argument(name)

    def output(self, name: str) -> Output:
        """Return an output of the operator."""
        output = self.code.facts.output(name)
        assert output is not None, name
        return output

    @property
    def listed(self) -> list[str]:
        """The differentiable outputs that are lists of tensors."""
        return [name for name in self.autograd.outputs if self.output(name).type.is_list]

    def place(self, index: int) -> str:
        """Return where the first gradient of an output is: behind those of the outputs before."""
        before = self.autograd.outputs[:index]
        lists = [name for name in before if name in self.listed]
        singles = index - len(lists)
        numbers = [str(singles)] if singles or not lists else []
        return " + ".join([*numbers, *(count_name(name) for name in lists)])

    def is_tensor(self, value: BackwardArgument) -> bool:
        """Return whether a saved value is a tensor."""
        return isinstance(value, SavedOutput) or self.argument(value_name(value)).type.is_tensor

    def is_list(self, value: BackwardArgument) -> bool:
        """Return whether a saved value is a list of tensors."""
        return isinstance(value, SavedArgument) and (
            self.argument(value.name).type.has_tensors and self.argument(value.name).type.is_list
        )

    def unpacked(self, value: SavedArgument | SavedOutput) -> str:
        """Return a saved value in the node; a tensor that was None is undefined."""
        name = self.saved[value]
        if self.is_list(value):
            optional = self.argument(value.name).type.optional_elements
            return f"unpack{'_optional' if optional else ''}({name})"
        if not self.is_tensor(value):
            return name
        # An output has this node in its graph.
        return f"{name}.unpack({'getptr()' if isinstance(value, SavedOutput) else ''})"

    @property
    def written(self) -> list[str]:
        """The arguments that are differentiable outputs."""
        outputs = [self.output(name) for name in self.autograd.outputs]
        return [output.argument for output in outputs if output.argument is not None]

    @property
    def watched(self) -> list[str]:
        """The arguments whose gradients decide whether a graph is recorded."""
        return list(dict.fromkeys([*self.autograd.inputs, *self.written]))


def count_name(output: str) -> str:
    """Return the member of the node that has the number of tensors of a list."""
    return f"{safe(output)}_count"


def member_name(code: OperatorCode, value: SavedArgument | SavedOutput) -> str:
    """Return the name of the member that keeps a value: a written argument may be kept twice."""
    argument = code.facts.schema.argument(value.name)
    is_written = isinstance(value, SavedOutput) and argument is not None
    return f"{'written_' if is_written else ''}{safe(value.name)}_"


def value_name(value: BackwardArgument) -> str:
    """Return the name of a saved value."""
    return value.output if isinstance(value, Gradient) else value.name
