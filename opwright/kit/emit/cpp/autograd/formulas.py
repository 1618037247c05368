"""Gradients that are expressions: the formulas of derivatives.yaml in C++.

What a formula says stays as it is, because op-plugin compiles it so. Replaced are names of saved
values and gradients, Python's literals, and calls: of operators of the set, all of whose arguments
the dispatcher takes in order, and of torch's own, which are functions of at::.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from opwright.kit.declare.aten import find_aten_function
from opwright.kit.declare.backward import BackwardCall
from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base
from opwright.kit.derive.backward import formula_value
from opwright.kit.derive.facts import Gradient, SavedOutput
from opwright.kit.emit.cpp.layout import flow, message
from opwright.kit.emit.edits import EditedText
from opwright.kit.expressions.errors import CppRuleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opwright.kit.declare.defaults import Default
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import BackwardArgument
    from opwright.kit.emit.cpp.autograd.derivative import Derivative
    from opwright.kit.emit.cpp.operators import OperatorCode

__all__ = ["apply_formulas"]

Operators: TypeAlias = "Mapping[str, OperatorCode]"
NAMED_LITERALS = {None: "std::nullopt", True: "true", False: "false"}


def apply_formulas(code: Derivative, operators: Operators) -> list[str]:
    """Return the statements that compute the gradients and return them."""
    formulas = list(single_formulas(code))
    translations = [Translation(code, operators, text) for _, text in formulas]
    expressions = [each.whole() for each in translations]
    inputs = [names for names, _ in formulas]
    lines = [
        f"// {code.code.facts.name}, gradient of {', '.join(names)}: {' '.join(text.split())}"
        for names, text in formulas
    ]
    lines += materialize(code, translations)
    is_plain = all(len(names) == 1 for names in inputs) and not any(
        code.argument(name).type.is_list for names in inputs for name in names
    )
    if is_plain:
        wanted = [
            f"task_should_compute_output({index}) ? {text} : at::Tensor()"
            for index, text in enumerate(expressions)
        ]
        return [*lines, *flow("return {", wanted if len(wanted) > 1 else expressions, "};")]
    lines.append("variable_list results;")
    for names, expression in zip(inputs, expressions, strict=True):
        variables = [f"grad_of_{name}" for name in names]
        target = f"[{', '.join(variables)}]" if len(variables) > 1 else variables[0]
        lines.append(f"const auto {target} = {expression};")
        lines += [
            f"results.insert(results.end(), {variable}.begin(), {variable}.end());"
            if code.argument(name).type.is_list
            else f"results.push_back({variable});"
            for name, variable in zip(names, variables, strict=True)
        ]
    return [*lines, "return results;"]


def single_formulas(code: Derivative) -> Iterator[tuple[Sequence[str], str]]:
    """Yield the formulas with their inputs; one that is a tuple is a formula for each input."""
    backward = code.code.facts.operator.backward
    assert isinstance(backward, BackwardCall)
    for formula in backward.formulas:
        names = formula.inputs or code.autograd.inputs
        text = formula.expression.strip()
        node = ast.parse(text, mode="eval").body
        if isinstance(node, ast.Tuple):
            for name, element in zip(names, node.elts, strict=True):
                yield (name,), ast.get_source_segment(text, element) or ""
        else:
            yield names, text


def materialize(code: Derivative, translations: Sequence[Translation]) -> list[str]:
    """Return the gradients of several outputs as variables: those that are not defined are zero."""
    if len(code.autograd.outputs) == 1:
        return []
    used = {name for each in translations for name in each.gradients}
    return [
        f"const at::Tensor {gradient_name(name)} = "
        f"grads[{index}].defined() ? grads[{index}] : input_metadata({index}).zeros_like();"
        for index, name in enumerate(code.autograd.outputs)
        if name in used
    ]


def gradient_name(output: str) -> str:
    """Return the variable that has the gradient of one of several outputs."""
    return f"grad_{output}"


class Translation:
    """A formula in C++.

    Parameters
    ----------
    gradients
        The outputs whose gradients it uses, once it is translated.
    """

    def __init__(self, code: Derivative, operators: Operators, text: str) -> None:
        self.code, self.operators = code, operators
        self.text = EditedText(text)
        self.gradients: set[str] = set()

    def whole(self) -> str:
        """Return the formula."""
        node = ast.parse(self.text.data, mode="eval").body
        inner = self.expression(node)
        before, after = self.between(0, self.start(node)), self.between(self.stop(node), None)
        return f"{before}{inner}{after}"

    def start(self, node: ast.expr) -> int:
        """Return where an expression begins in the text."""
        return self.text.offset((node.lineno, node.col_offset))

    def stop(self, node: ast.expr) -> int:
        """Return where an expression ends in the text."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.text.offset((node.end_lineno, node.end_col_offset))

    def between(self, start: int, stop: int | None) -> str:
        """Return a piece of the text, on one line."""
        return self.text.data[start:stop].decode().replace("\n", " ")

    def expression(self, node: ast.expr) -> str:
        """Return an expression in C++."""
        value = formula_value(node, self.code.code.facts.operator, self.code.code.facts.outputs)
        if value is not None:
            return self.value(value)
        if (words := python_alone(node, len(self.code.code.facts.outputs))) is not None:
            raise CppRuleError(
                where=f"{self.code.code.where}, backward {self.text.data.decode()!r}",
                got=f"{ast.unparse(node)}: {words}",
                fix="write the formula as C++, or call an operator whose kernel computes it",
            )
        match node:
            case ast.Constant(str(text)):
                return message(text)
            case ast.Constant(None | True | False as word):
                return NAMED_LITERALS[word]
            case ast.Call(ast.Name(name)) if name in self.operators:
                return self.call(node, self.operators[name])
            case ast.Call(function) if (aten := find_aten_function(function)) is not None:
                return f"at::{aten}({', '.join(map(self.expression, node.args))})"
        text, done = "", self.start(node)
        for inner in sorted(inner_expressions(node), key=self.start):
            text += self.between(done, self.start(inner)) + self.expression(inner)
            done = self.stop(inner)
        return text + self.between(done, self.stop(node))

    def value(self, value: BackwardArgument) -> str:
        """Return a gradient or a saved value."""
        if isinstance(value, Gradient):
            self.gradients.add(value.output)
            is_one = len(self.code.autograd.outputs) == 1
            return "grads[0]" if is_one else gradient_name(value.output)
        return self.code.unpacked(value)

    def call(self, node: ast.Call, operator: OperatorCode) -> str:
        """Return the call of an operator of the set."""
        arguments = operator.facts.schema.arguments
        given = dict(zip((argument.name for argument in arguments), node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        values = [
            self.passed(given[argument.name], argument)
            if argument.name in given
            else self.default(argument, operator)
            for argument in arguments
        ]
        return f"{operator.name}().call({', '.join(values)})"

    def passed(self, node: ast.expr, argument: Argument) -> str:
        """Return what an operator gets for an argument: an undefined tensor is none at all."""
        facts = self.code.code.facts
        value = formula_value(node, facts.operator, facts.outputs)
        is_tensor = isinstance(value, Gradient | SavedOutput) or (
            value is not None and self.code.is_tensor(value)
        )
        text = self.expression(node)
        return f"if_defined({text})" if is_tensor and argument.type.optional else text

    def default(self, argument: Argument, operator: OperatorCode) -> str:
        """Return the default of an argument that a formula leaves out."""
        value = default_value(argument)
        if isinstance(value, str) and argument.type.base is not Base.STR:
            raise CppRuleError(
                where=f"{self.code.code.where}, backward {self.text.data.decode()!r}",
                got=f"no {argument.name!r} for {operator.facts.name}, whose default is {value}",
                fix="give the argument in the formula",
            )
        return literal(value)


def python_alone(node: ast.expr, outputs: int) -> str | None:
    """Return what is not C++, or something else there, in an expression; None if it is C++.

    Parameters
    ----------
    outputs
        The number of results.
    """
    match node:
        case ast.BinOp(op=ast.FloorDiv()):
            return "// begins a comment in C++"
        case ast.BinOp(op=ast.Pow()):
            return "C++ has no **; tensors have pow()"
        case ast.BinOp(op=ast.MatMult()):
            return "C++ has no @; tensors have matmul()"
        case ast.Compare(ops=[_, _, *_]):
            return "C++ compares the first result, true or false, with the rest"
        case ast.Subscript(ast.Name("grads")):
            last = outputs - 1
            return f"there are grads[0] to grads[{last}]" if last else "there is grads[0]"
        case ast.Call(ast.Attribute(), keywords=[_, *_]):
            return "C++ has no arguments by name"
        case ast.Call(ast.Name() as function, keywords=[_, *_]) if find_aten_function(function):
            return "C++ has no arguments by name"
        case ast.Call(ast.Attribute() as function) if is_of_torch_alone(function):
            return "it is no operator of torch, so C++ does not have it"
        case ast.List():
            return "lists of C++ have braces"
        case ast.IfExp() | ast.Lambda() | ast.JoinedStr() | ast.Slice() | ast.Starred():
            return "C++ has no such expression"
    return None


def is_of_torch_alone(function: ast.Attribute) -> bool:
    """Return whether a function of the module torch is no operator."""
    return ast.unparse(function).startswith("torch.") and find_aten_function(function) is None


def inner_expressions(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions right inside of another one."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.keyword):
            yield inner.value
        elif isinstance(inner, ast.expr):
            yield inner


def literal(value: Default) -> str:
    """Return a default in C++."""
    if isinstance(value, list):
        return f"{{{', '.join(map(literal, value))}}}"
    if isinstance(value, str):
        return message(value)
    return NAMED_LITERALS[value] if value is None or isinstance(value, bool) else repr(value)
