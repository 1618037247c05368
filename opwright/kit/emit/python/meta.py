"""`_meta.py`: Meta kernels in Python, for packages that use only the stable ABI.

Its C++ has no symbolic sizes. Checks, shapes and dtypes are those of the C++ kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.rules import DtypeSet, SameDtype
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.names import function_name
from opwright.kit.emit.python.text import WIDTH, Group, bracket, docstring, lay_out, literal
from opwright.kit.expressions.conditions import (
    MemberCheck,
    RankCheck,
    SizeCheck,
    SpanCheck,
    ValueCheck,
    arguments_of_check,
)
from opwright.kit.expressions.messages import dtype_texts, texts_of_check
from opwright.kit.expressions.print_python import (
    dtype_text,
    shape_text,
    size_text,
    slice_text,
    span_text,
)
from opwright.kit.expressions.shape import (
    Span,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.kit.derive.facts import OperatorFacts, Output, SetFacts
    from opwright.kit.emit.options import EmitOptions
    from opwright.kit.expressions.conditions import Check

__all__ = ["emit_meta"]

# Names are those of the schemas, conditions those of the rules.
CODES = ("A002", "ANN401", "ARG001", "E501", "E741", "N803", "PLR0913", "PLR0917", "RUF100")
HELPERS = (
    *("as_list", "broadcast", "check_axes", "check_dtype"),
    *("device_of", "reduced", "require", "several", "tensors_in"),
)


def emit_meta(facts: SetFacts, options: EmitOptions) -> str:
    """Return the Meta kernels."""
    namespace = facts.declaration.namespace
    kernels = [kernel(each, namespace) for each in facts.operators if each.call is not None]
    text = "\n".join(line for each in kernels for line in each)
    used = [name for name in HELPERS if f"{name}(" in text]
    imported = f"from {options.package}._rules import {', '.join(used)}"
    if len(imported) > WIDTH:
        imported = bracket(f"from {options.package}._rules import (", used, ")")
    return module(
        "Meta kernels: what calls return, from the rules alone. Sizes may be symbolic.",
        *kernels,
        source=facts.declaration.source.name,
        imports=[["from typing import Any"], ["import torch"], [imported] if used else []],
        comments=[f"# ruff: noqa: {', '.join(CODES)}", "# mypy: ignore-errors"],
    )


def kernel(operator: OperatorFacts, namespace: str) -> list[str]:
    """Return the Meta kernel of an operator."""
    arguments: list[str] = []
    for argument in operator.schema.arguments:
        if argument.keyword_only and "*" not in arguments:
            arguments.append("*")
        arguments.append(f"{argument.name}: Any")
    name = f"{namespace}::{operator.name}"
    body = [line for rule in operator.dtypes for line in dtype_check(operator, rule, name)]
    body += [line for each in operator.checks for line in check(operator, each, name)]
    results = [
        result(operator, output)
        for output in sorted(operator.outputs, key=lambda each: each.result or 0)
        if output.result is not None
    ]
    if len(results) == 1:
        body += lay_out(add_prefix("return ", results[0]), indent="    ")
    elif results:
        body += lay_out(Group("return (", tuple(results), ")"), indent="    ")
    head = bracket(f"def {function_name(operator.name)}(", arguments, ") -> Any:")
    doc = docstring(f"Return what ``{name}`` would.", indent="    ")
    return [head, *doc, *body]


def add_prefix(text: str, item: str | Group) -> str | Group:
    """Put a text before an item."""
    if isinstance(item, str):
        return text + item
    return Group(text + item.opening, item.items, item.closing)


def words(operator_name: str, texts: tuple[str, ...]) -> Group:
    """Return the texts of a message, with the operator's name before them."""
    first, *rest = texts
    return Group("(", tuple(map(literal, (f"{operator_name}: {first}", *rest))), ")")


def dtype_check(operator: OperatorFacts, name: str, operator_name: str) -> Iterator[str]:
    """Return the check of a dtype rule."""
    argument = operator.schema.argument(name)
    rule = operator.dtypes[name]
    if argument is None or not argument.type.has_tensors or rule == SameDtype(name):
        return
    if isinstance(rule, DtypeSet):
        names = [f"torch.{each}" for each in rule.names]
        allowed = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    else:
        allowed = f"({dtype_text(rule, operator.schema)},)"
    call = Group("check_dtype(", (name, allowed, words(operator_name, dtype_texts(name))), ")")
    indent = "    "
    if isinstance(rule, SameDtype):
        other = operator.argument(rule.tensor).type
        if other.optional or other.is_list:
            yield f"    if tensors_in({rule.tensor}):"
            indent += "    "
    yield from lay_out(call, indent=indent)


def check(operator: OperatorFacts, rule: Check, operator_name: str) -> Iterator[str]:
    """Return one check; that of a list is for each of its tensors, others where all is given."""
    if isinstance(rule, RankCheck) and rule.at_least and rule.rank == 0:
        return  # it always holds
    conditions = [
        f"{name} is not None"
        for name in sorted(arguments_of_check(rule))
        if operator.argument(name).type.optional
    ]
    indent = "    "
    if conditions:
        yield f"{indent}if {' and '.join(conditions)}:"
        indent += "    "
    tensor = tensor_of(rule)
    shape = f"{tensor}.shape"
    if tensor is not None and operator.argument(tensor).type.is_list:
        yield f"{indent}for each in tensors_in({tensor}):"
        indent += "    "
        shape = "each.shape"
    yield from lay_out(check_call(operator, rule, shape, operator_name), indent=indent)


def tensor_of(rule: Check) -> str | None:
    """Return the tensor that a check is about."""
    match rule:
        case RankCheck(tensor=tensor) | SizeCheck(tensor=tensor) | SpanCheck(span=Span(tensor)):
            return tensor
        case _:
            return None


def check_call(operator: OperatorFacts, rule: Check, shape: str, operator_name: str) -> Group:
    """Return the call that checks.

    Parameters
    ----------
    shape
        Of the tensor that the check is about.
    """
    texts = words(operator_name, texts_of_check(rule))
    match rule:
        case RankCheck(rank=rank, at_least=at_least):
            got = f"len({shape})"
            return require(f"{got} {'>=' if at_least else '=='} {rank}", texts, got)
        case SizeCheck(axis=axis, size=size):
            got, expected = f"{shape}[{axis}]", size_text(size, operator.schema)
            return require(f"{got} == {expected}", texts, got, expected)
        case SpanCheck(span=span, other=other):
            own = f"{shape}{slice_text(span)}"
            return Group("check_axes(", (own, span_text(other), texts), ")")
        case ValueCheck(left=left, comparison=comparison, right=right):
            one, another = size_text(left, operator.schema), size_text(right, operator.schema)
            return require(f"{one} {comparison} {another}", texts, one, another)
        case MemberCheck(argument=argument, values=values):
            return require(f"{argument} in {literal(values)}", texts, argument)
        case _:
            assert_never(rule)


def require(condition: str, texts: Group, *values: str) -> Group:
    """Return a check of a condition."""
    return Group("require(", (condition, texts, *values), ")")


def result(operator: OperatorFacts, output: Output) -> str | Group:
    """Return a result: an argument, what stands for its new value, or a new tensor."""
    if output.argument is not None:
        if output.argument not in operator.clones:
            return output.argument
        kind = operator.argument(output.argument).type
        if kind.is_list:
            return f"[torch.empty_like(each) for each in {output.argument}]"
        made = f"torch.empty_like({output.argument})"
        return f"None if {output.argument} is None else {made}" if kind.optional else made
    assert output.dtype is not None
    assert isinstance(output.shape, tuple)
    tensors = [a.name for a in operator.schema.arguments if a.type.has_tensors]
    required = [
        a.name for a in operator.schema.arguments if a.type.is_tensor and not a.type.optional
    ]
    is_first = bool(required) and required[0] == tensors[0]
    device = f"{required[0]}.device" if is_first else f"device_of({', '.join(tensors)})"
    shape, dtype = (
        shape_text(output.shape, operator.schema),
        dtype_text(output.dtype, operator.schema),
    )
    opening, items = "torch.empty(", (shape, f"dtype={dtype}", f"device={device}")
    if output.count is None:
        return Group(opening, items, ")")
    count = size_text(output.count, operator.schema)
    return Group("several(", (count, Group(f"lambda i: {opening}", items, ")")), ")")
