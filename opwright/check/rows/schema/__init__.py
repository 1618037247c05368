"""The schema says what it seems to say, and callers of the last release can still call it.

PyTorch accepts schemas that nobody can use: `int k=None` is registered without a word and hands the
kernel a None that C++ reads as garbage; a result may be annotated with an alias set that no
argument has. The row reads the schema as the dispatcher has it:

* each default is a value of the argument's type;
* names of arguments are such as torch's compilers can pass;
* alias annotations are of tensors, and each of a result is that of one argument;
* tags agree with what the schema writes;
* of a library that is only described: it has the schema that the declaration says.

**Compatibility.** `opwright check TARGET --release 1.0` keeps the schemas in `schemas.json` beside
the declaration (in the working directory for a library without one). From then on each schema must
accept the calls that the released one accepted, by torch's own rule for operators: new arguments
come last and have defaults, and what was there keeps its name, type, default and annotation.
Operators that are gone are found as well. A new major version may break all this.
"""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

from opwright.check.finding import Kind
from opwright.check.observe.registrations import torch_schema
from opwright.check.row import Row
from opwright.check.rows.schema.comparisons import (
    CHANGED,
    DECLARED,
    REMOVED,
    compare_declared,
    compatibility,
    place,
)
from opwright.kit.derive.functional import TAKEN_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.schema import Argument

__all__ = ["ROW"]

DEFAULT = Kind(
    "wrong-default",
    "a default is no value of the argument's type",
    "write `int? k=None` where None is meant, otherwise a value of the type",
)
NAME = Kind(
    "unusable-name",
    "an argument has a name that callers or torch's compilers cannot pass",
    "rename the argument",
)
ALIAS = Kind(
    "unbound-alias",
    "an alias annotation does not say which argument it is of",
    "give the argument and the result the same letter: `f(Tensor(a!) x) -> Tensor(a!)`",
)
NO_TENSOR = Kind(
    "written-number",
    "something that is no tensor is annotated as written",
    "remove the annotation: only tensors are written; return a new number instead",
)
SAME_RESULT = Kind(
    "same-result-twice",
    "two results are one argument",
    "return the argument once; graphs cannot have a value twice",
)
TAG = Kind(
    "wrong-tag",
    "a tag says something else than the schema",
    "remove the tag, or correct the schema",
)

# Types that a default may have, by the name of torch's type.
NUMBERS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "SymInt": (int,),
    "float": (float, int),
    "SymFloat": (float, int),
    "number": (int, float, bool, complex),
    "complex": (complex, float, int),
    "bool": (bool,),
    "str": (str,),
}
# Only one of these can hold.
STRIDES = ("needs_exact_strides", "needs_contiguous_strides", "needs_fixed_stride_order")


def run(context: RowContext) -> None:
    """Read the schema."""
    subject = context.subject
    schema = torch_schema(subject.namespace, subject.operator.name)
    context.ran.append(str(schema))
    context.findings += defaults(context, schema)
    context.findings += names(context)
    context.findings += aliases(context, schema)
    context.findings += tags(context)
    if not context.findings:
        context.findings += compare_declared(context, schema)
    context.findings += compatibility(context, schema)


def defaults(context: RowContext, schema: Any) -> Iterator[Finding]:  # noqa: ANN401 - torch's own class
    """Find defaults that are no values of their types."""
    for argument in schema.arguments:
        if not argument.has_default_value():
            continue
        value, kind = argument.default_value, argument.real_type
        if is_fitting(value, kind) and not (
            isinstance(value, list) and argument.N not in {None, len(value)} and value
        ):
            continue
        text = f"{kind_text(kind, argument.N)} {argument.name}={value!r}"
        optional = f"{kind_text(kind, argument.N)}? {argument.name}=None"
        fix = f"write {optional}, and let the kernel take an optional" if value is None else None
        yield context.finding(
            DEFAULT,
            expected=f"a default of type {kind_text(kind, argument.N)}",
            got=text,
            place=place(context.subject),
            fix=fix,
            script=(
                f"default = {{a.name: a for a in operator._schema.arguments}}[{argument.name!r}]",
                f"assert repr(default.default_value) != {repr(value)!r}, default",
            ),
        )


def is_fitting(value: object, kind: Any) -> bool:  # noqa: ANN401 - torch's own class
    """Return whether a default is a value of a type."""
    match kind.kind():
        case "OptionalType":
            return value is None or is_fitting(value, kind.getElementType())
        case "ListType":
            element = kind.getElementType()
            return isinstance(value, list) and all(is_fitting(each, element) for each in value)
    if value is None:
        return False
    allowed = NUMBERS.get(str(kind))
    if allowed is None:
        return True
    return isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))


def kind_text(kind: Any, length: int | None) -> str:  # noqa: ANN401 - torch's own class
    """Return a type as schemas write it."""
    match kind.kind():
        case "OptionalType":
            return f"{kind_text(kind.getElementType(), length)}?"
        case "ListType":
            return f"{kind_text(kind.getElementType(), None)}[{length or ''}]"
    return "Scalar" if str(kind) == "number" else str(kind)


def names(context: RowContext) -> Iterator[Finding]:
    """Find names that cannot be passed."""
    subject = context.subject
    for argument in subject.schema.arguments:
        why = None
        if keyword.iskeyword(argument.name) and (argument.keyword_only or subject.schema.mutated):
            why = "is a word of Python: graphs pass it by name, and their code does not parse"
        elif argument.name == "self" and argument.keyword_only:
            why = "is the first parameter of OpOverload's own methods, which get it by name"
        elif argument.name in TAKEN_NAMES and is_auto_functionalized(subject, argument):
            why = (
                "is a parameter of torch's auto_functionalized operator, which takes the arguments"
                " of an operator that writes by name"
            )
        if why is not None:
            yield context.finding(
                NAME,
                expected="a name that can be passed by name",
                got=f"{argument.name!r}, which {why}",
                place=place(subject),
            )


def is_auto_functionalized(subject: Subject, argument: Argument) -> bool:
    """Return whether torch's own functionalization passes an argument by its name."""
    return subject.is_foreign and bool(subject.schema.mutated) and not argument.is_written


def aliases(context: RowContext, registered_schema: Any) -> Iterator[Finding]:  # noqa: ANN401 - torch's own class
    """Find annotations that say nothing, or several things."""
    subject, schema = context.subject, context.subject.schema
    for argument in schema.arguments:
        if argument.is_written and not argument.type.has_tensors:
            yield context.finding(
                NO_TENSOR,
                expected="annotations of tensors",
                got=str(argument),
                place=place(subject),
            )
    returned: dict[str, int] = {}
    for index, result in enumerate(registered_schema.returns):
        # The letters of a list of tensors are those of its elements, which torch does not show.
        letters = alias_letters(result)
        if not letters:
            continue
        owners = [each for each in registered_schema.arguments if alias_letters(each) & letters]
        written = [each.name for each in owners if each.alias_info.is_write]
        where = place(subject)
        if len(owners) != 1:
            expected = f"one argument with the annotation of result {index}"
            got = f"{', '.join(each.name for each in owners) or 'none'} in {registered_schema}"
            yield context.finding(ALIAS, expected=expected, got=got, place=where)
        elif bool(written) != result.alias_info.is_write:
            expected = f"the annotation of argument {owners[0].name!r} for result {index}"
            yield context.finding(ALIAS, expected=expected, got=str(registered_schema), place=where)
        first = returned.setdefault(min(letters), index)
        if first != index and result.alias_info.is_write:  # else they are two views of it
            yield context.finding(
                SAME_RESULT,
                expected="each argument at most once among the results",
                got=f"results {first} and {index} of {registered_schema}",
                place=where,
            )


def alias_letters(value: Any) -> set[str]:  # noqa: ANN401 - torch's own class
    """Return the alias sets of an argument or result."""
    return set() if value.alias_info is None else set(value.alias_info.before_set)


def tags(context: RowContext) -> Iterator[Finding]:
    """Find tags that contradict the schema, or each other."""
    subject, schema = context.subject, context.subject.schema
    given = {each.name for each in subject.overload.tags}
    wrong: list[tuple[str, str]] = []
    if "inplace" in given and not (schema.arguments and schema.arguments[0].is_written):
        wrong.append(("inplace", "an operator that writes its first argument"))
    if "out" in given and not schema.is_out_variant:
        wrong.append(("out", "an operator that writes keyword-only arguments"))
    if "inplace_view" in given and not schema.mutated:
        wrong.append(("inplace_view", "an operator that changes an annotated argument"))
    if "pointwise" in given and not any(a.type.has_tensors for a in schema.arguments):
        wrong.append(("pointwise", "an operator of tensors"))
    several = [each for each in STRIDES if each in given]
    if len(several) > 1:
        wrong.append((" and ".join(several), "one of them"))
    if "flexible_layout" in given and several:
        wrong.append((f"flexible_layout and {several[0]}", "one of them"))
    for tag, expected in wrong:
        yield context.finding(
            TAG, expected=expected, got=f"tag {tag} of {schema}", place=place(subject)
        )


ROW = Row(
    name="schema",
    title="the schema is well-formed and takes the calls of the last release",
    kinds=(
        DEFAULT,
        NAME,
        ALIAS,
        NO_TENSOR,
        SAME_RESULT,
        TAG,
        DECLARED,
        CHANGED,
        REMOVED,
    ),
    run=run,
    columns=("registered",),
)
