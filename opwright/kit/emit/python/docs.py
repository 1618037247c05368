"""The docstring of an operator: the author's words, and what follows from the declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    DtypeSet,
    EachOf,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.emit.python.authored import read_docstring
from opwright.kit.emit.python.text import WIDTH, wrap
from opwright.kit.expressions.conditions import MemberCheck, ValueCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import OperatorFacts, Output
    from opwright.kit.emit.options import EmitOptions
    from opwright.kit.emit.python.authored import Authored

__all__ = ["operator_docstring", "replacement"]

INDENT = "    "


def operator_docstring(facts: OperatorFacts, namespace: str, options: EmitOptions) -> str:
    """Return the docstring of the function that calls an operator."""
    authored = read_docstring(facts.operator.doc)
    summary = authored.summary or f"Call ``{namespace}::{facts.name}``."
    body: list[str] = [*wrap(summary, width=WIDTH - 8)[:1]]
    more = wrap(summary, width=WIDTH - 8)[1:]
    if more:
        # A summary has one line; what does not fit is the text below it.
        body = [summary.split(". ")[0].rstrip(".") + ".", "", *wrap(summary, width=WIDTH - 4)]
        if len(body[0]) > WIDTH - 8:
            body[0] = f"Call ``{namespace}::{facts.name}``."
    body += section("", list(authored.text))
    body += section("", list(deprecation(facts)))
    body += section(
        "Parameters",
        [line for a in facts.schema.arguments for line in parameter(a, facts, authored)],
    )
    body += section(
        "Returns",
        [
            line
            for o in facts.outputs
            if o.result is not None
            for line in describe_result(o, facts, authored)
        ],
    )
    body += section("Raises", list(describe_errors(facts, options)))
    for title, content in authored.sections.items():
        body += section(title, list(content))
    if not any(title == "Notes" for title in authored.sections):
        body += section("Notes", list(notes(facts, namespace)))
    return "\n".join(body)


def section(title: str, content: list[str]) -> list[str]:
    """Return a section, or nothing if it has no content."""
    if not content:
        return []
    head = [title, "-" * len(title)] if title else []
    return ["", *head, *content]


def deprecation(facts: OperatorFacts) -> Iterator[str]:
    """Say since when an operator is deprecated."""
    deprecated = facts.operator.deprecated
    if deprecated is not None:
        yield f".. deprecated:: {deprecated.since}"
        if deprecated.use is not None:
            yield f"   Use ``{deprecated.use}``."


def replacement(facts: OperatorFacts, package: str) -> str:
    """Return the sentence that a caller of a deprecated operator reads."""
    deprecated = facts.operator.deprecated
    assert deprecated is not None
    use = f"; use {deprecated.use}" if deprecated.use else ""
    return f"{package}.{facts.name} is deprecated since {deprecated.since}{use}"


def describe(words: list[str]) -> list[str]:
    """Return sentences as indented lines."""
    return wrap(" ".join(words), indent=INDENT, width=WIDTH - 4)


def parameter(argument: Argument, facts: OperatorFacts, authored: Authored) -> Iterator[str]:
    """Describe an argument."""
    words: list[str] = []
    if argument.type.has_tensors:
        words += tensor_words(argument, facts)
    given = authored.described.get(argument.name, ())
    content = [INDENT + line if line else "" for line in given] + describe(words)
    if content:
        yield argument.name
        yield from content


def tensor_words(argument: Argument, facts: OperatorFacts) -> list[str]:
    """Return sentences about a tensor argument."""
    operator = facts.operator
    words = []
    rule = operator.shapes.get(argument.name)
    if isinstance(rule, Dims):
        words.append(f"Shape ({rule.text}).")
    if (dtype := operator.dtypes.get(argument.name)) is not None:
        words.append(f"Dtype {dtype_words(dtype)}.")
    if operator.layouts.get(argument.name) == "contiguous":
        words.append("Copied if it is not contiguous.")
    if argument.is_written and facts.role != "functional twin":
        words.append("It is written.")
    return words


def describe_result(output: Output, facts: OperatorFacts, authored: Authored) -> Iterator[str]:
    """Describe a result."""
    words = []
    if output.argument is not None and facts.role != "functional twin":
        argument = facts.argument(output.argument)
        words.append(
            f"The argument ``{argument.name}``."
            if argument.is_written
            else f"A view of ``{argument.name}``."
        )
    elif output.argument is not None:
        words.append(f"The new value of ``{output.argument}``.")
    else:
        rule = facts.operator.shapes.get(output.name)
        if rule is not None:
            words.append(f"{shape_words(rule)}.")
        if output.dtype is not None:
            words.append(f"Dtype {dtype_words(output.dtype)}.")
        if output.unspecified:
            condition = facts.operator.unspecified[output.name]
            words.append(f"Its values are unspecified where ``{condition}``.")
    given = authored.described.get(output.name, ())
    yield output.name
    yield from [INDENT + line if line else "" for line in given] + (
        describe(words) or [f"{INDENT}The result."] * (not given)
    )


def shape_words(rule: ShapeRule) -> str:
    """Describe a shape."""
    match rule:
        case Dims(text):
            return f"Shape ({text})"
        case Like(tensor):
            return f"Shape of ``{tensor}``"
        case BroadcastOf(tensors):
            return f"Shape of {join(tensors)} after broadcasting"
        case ReducedOf(tensor, dim, keepdim):
            over = f" over ``{dim}``" if dim else " over all axes"
            kept = f", which stay with size 1 if ``{keepdim}``" if keepdim else ""
            return f"Shape of ``{tensor}`` reduced{over}{kept}"
        case EachOf(count, shape):
            each = shape_words(shape)
            return f"``{count}`` tensors, where ``i`` counts them: {each[0].lower()}{each[1:]}"
        case ShapeFunction() | Cpp():
            return "Shape computed from the arguments"
        case _:
            assert_never(rule)


def dtype_words(rule: DtypeRule) -> str:
    """Describe a dtype."""
    match rule:
        case DtypeSet(names):
            return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
        case SameDtype(tensor, True):
            return f"of the tensor of ``{tensor}`` at the same place"
        case SameDtype(tensor):
            return f"of ``{tensor}``"
        case Promoted(tensors):
            return f"of {join(tensors)} after type promotion"
        case DtypeArgument(name, otherwise) if otherwise is not None:
            return f"``{name}``, or that {dtype_words(otherwise)} where it is None"
        case DtypeArgument(name):
            return f"``{name}``"
        case Cpp():
            return "computed from the arguments"
        case _:
            assert_never(rule)


def join(names: tuple[str, ...]) -> str:
    """List names."""
    quoted = [f"``{name}``" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]


def describe_errors(facts: OperatorFacts, options: EmitOptions) -> Iterator[str]:
    """Describe errors."""
    if facts.call is None:
        return  # what it is made of checks
    wrong = []
    if any(not isinstance(check, ValueCheck | MemberCheck) for check in facts.checks):
        wrong.append("a shape is not as described")
    wrong += [f"``{text}`` does not hold" for text in facts.operator.requires]
    if wrong:
        yield "ValueError"
        yield from describe([f"If {' or '.join(wrong)}."])
    if facts.dtypes:
        yield "TypeError"
        yield from describe(["If a dtype is not as described."])
    if options.stable_abi and (wrong or facts.dtypes):
        yield "RuntimeError"
        yield from describe(["Instead, on an NPU: the stable ABI has no other type of error."])


def notes(facts: OperatorFacts, namespace: str) -> Iterator[str]:
    """Say what else a user may ask about."""
    parts = []
    if facts.autograd is not None:
        parts.append(f"Gradients flow to {join(facts.autograd.inputs)}.")
    if not facts.operator.deterministic:
        parts.append("Two calls with the same arguments may differ in the last bits.")
    if facts.functional_twin is not None:
        parts.append(
            f"``torch.ops.{namespace}.{facts.functional_twin}`` computes the same without writing."
        )
    yield from wrap(" ".join(parts), width=WIDTH - 4)
