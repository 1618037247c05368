"""The schema says what it seems to say, and callers of the last release can still call it.

PyTorch accepts schemas that nobody can use: `int k=None` is registered without a word and hands the
kernel a None that C++ reads as garbage; two arguments may have one name; a result may be annotated
with an alias set that no argument has. The row reads the schema as the dispatcher has it:

* each default is a value of the argument's type;
* names of arguments are unique, and torch's compilers can pass them;
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

import dataclasses
import keyword
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.known.released import FILE, read_releases, release_folder
from opwright.check.observe.registrations import neighbour, registered, schema_text, torch_schema
from opwright.check.row import Row
from opwright.declare.errors import SchemaError
from opwright.declare.schema_text import parse_schema
from opwright.derive.functional import TAKEN_NAMES
from opwright.live import dispatcher
from opwright.live.existing import comparable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.bench import Bench
    from opwright.check.finding import Finding
    from opwright.check.subject import Subject
    from opwright.declare.schema import Alias, Argument, Schema

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
DUPLICATE = Kind(
    "duplicate-name",
    "two arguments have one name",
    "rename one: only the first can be given by name",
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
DECLARED = Kind(
    "not-as-declared",
    "the library registers another schema than the declaration says",
    "correct the declaration, or the library",
)
CHANGED = Kind(
    "incompatible",
    "calls that worked with the last release no longer work",
    "keep what was released and add new arguments last, with defaults; or release a major version",
)
REMOVED = Kind(
    "removed",
    "an operator of the last release is gone",
    "keep it as deprecated; or release a major version",
)

# What a default may be, by the name of torch's type.
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


def run(bench: Bench) -> None:
    """Read the schema."""
    subject = bench.subject
    schema = torch_schema(subject.namespace, subject.operator.name)
    bench.ran.append(str(schema))
    bench.findings += defaults(bench, schema)
    bench.findings += names(bench)
    bench.findings += aliases(bench, schema)
    bench.findings += tags(bench)
    if not bench.findings:
        bench.findings += declared(bench, schema)
    bench.findings += compatibility(bench, schema)


def place(subject: Subject) -> str:
    """Return where the schema stands: of a foreign operator, where its library defines it."""
    return (subject.is_foreign and registered(subject.name).place) or subject.place


def defaults(bench: Bench, schema: Any) -> Iterator[Finding]:  # noqa: ANN401 - torch's own class
    """Find defaults that are no values of their types."""
    for argument in schema.arguments:
        if not argument.has_default_value():
            continue
        value, kind = argument.default_value, argument.real_type
        if fits(value, kind) and not (
            isinstance(value, list) and argument.N not in {None, len(value)} and value
        ):
            continue
        text = f"{kind_text(kind, argument.N)} {argument.name}={value!r}"
        optional = f"{kind_text(kind, argument.N)}? {argument.name}=None"
        fix = f"write {optional}, and let the kernel take an optional" if value is None else None
        yield bench.finding(
            DEFAULT,
            expected=f"a default of type {kind_text(kind, argument.N)}",
            got=text,
            place=place(bench.subject),
            fix=fix,
            script=(
                f"default = {{a.name: a for a in operator._schema.arguments}}[{argument.name!r}]",
                f"assert repr(default.default_value) != {repr(value)!r}, default",
            ),
        )


def fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - torch's own class
    """Tell whether a default is a value of a type."""
    match kind.kind():
        case "OptionalType":
            return value is None or fits(value, kind.getElementType())
        case "ListType":
            element = kind.getElementType()
            return isinstance(value, list) and all(fits(each, element) for each in value)
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


def names(bench: Bench) -> Iterator[Finding]:
    """Find names that cannot be passed."""
    subject, seen = bench.subject, set[str]()
    for argument in subject.schema.arguments:
        why = None
        if argument.name in seen:
            yield bench.finding(
                DUPLICATE,
                expected="names that are unique",
                got=f"{argument.name!r} twice in {subject.schema}",
                place=place(subject),
            )
        elif keyword.iskeyword(argument.name) and (argument.keyword_only or subject.schema.mutated):
            why = "is a word of Python: graphs pass it by name, and their code does not parse"
        elif argument.name == "self" and argument.keyword_only:
            why = "is the first parameter of OpOverload's own methods, which get it by name"
        elif argument.name in TAKEN_NAMES and is_auto_functionalized(subject, argument):
            why = (
                "is a parameter of torch's auto_functionalized operator, which takes the arguments"
                " of an operator that writes by name"
            )
        seen.add(argument.name)
        if why is not None:
            yield bench.finding(
                NAME,
                expected="a name that can be passed by name",
                got=f"{argument.name!r}, which {why}",
                place=place(subject),
            )


def is_auto_functionalized(subject: Subject, argument: Argument) -> bool:
    """Tell whether torch's own functionalization passes an argument by its name."""
    return subject.is_foreign and bool(subject.schema.mutated) and not argument.is_written


def aliases(bench: Bench, registered_schema: Any) -> Iterator[Finding]:  # noqa: ANN401 - torch's own class
    """Find annotations that say nothing, or several things."""
    subject, schema = bench.subject, bench.subject.schema
    for argument in schema.arguments:
        if argument.is_written and not argument.type.has_tensors:
            yield bench.finding(
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
            yield bench.finding(ALIAS, expected=expected, got=got, place=where)
        elif bool(written) != result.alias_info.is_write:
            expected = f"the annotation of argument {owners[0].name!r} for result {index}"
            yield bench.finding(ALIAS, expected=expected, got=str(registered_schema), place=where)
        first = returned.setdefault(min(letters), index)
        if first != index:
            yield bench.finding(
                SAME_RESULT,
                expected="each argument at most once among the results",
                got=f"results {first} and {index} of {registered_schema}",
                place=where,
            )


def alias_letters(value: Any) -> set[str]:  # noqa: ANN401 - torch's own class
    """Return the alias sets of an argument or result."""
    return set() if value.alias_info is None else set(value.alias_info.before_set)


def tags(bench: Bench) -> Iterator[Finding]:
    """Find tags that contradict the schema, or each other."""
    subject, schema = bench.subject, bench.subject.schema
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
        yield bench.finding(
            TAG, expected=expected, got=f"tag {tag} of {schema}", place=place(subject)
        )


def declared(bench: Bench, schema: object) -> Iterator[Finding]:
    """Find what a described operator has otherwise than its declaration says."""
    subject = bench.subject
    if not subject.is_foreign or subject.facts is None:
        return
    there = parsed(schema_text(schema), subject)
    if there is not None and lettered(there) != lettered(subject.schema):
        yield bench.finding(
            DECLARED,
            expected=str(subject.schema),
            got=str(there),
            fix=f"declare it as {there}, if the library is right",
        )


def lettered(schema: Schema) -> Schema:
    """Return a schema in which spelling makes no difference: alias sets are named in order."""
    found = [each.alias for each in schema.arguments] + [each.alias for each in schema.results]
    given = [each.name for each in found if each is not None]
    letters = {name: str(index) for index, name in enumerate(dict.fromkeys(given))}

    def named(alias: Alias | None) -> Alias | None:
        return alias and dataclasses.replace(alias, name=letters[alias.name])

    plain = comparable(schema)
    return dataclasses.replace(
        plain,
        arguments=tuple(dataclasses.replace(a, alias=named(a.alias)) for a in plain.arguments),
        results=tuple(dataclasses.replace(r, alias=named(r.alias)) for r in plain.results),
    )


def parsed(text: str, subject: Subject) -> Schema | None:
    """Return a schema, if opwright can read it."""
    try:
        return parse_schema(text.partition("::")[2], where=subject.where)
    except SchemaError:
        return None


# Compatibility with the last release.


def compatibility(bench: Bench, schema: object) -> Iterator[Finding]:
    """Find what callers of the last release can no longer call."""
    subject = bench.subject
    folder = release_folder(subject.operator.place.file)
    release = read_releases(folder).get(subject.namespace)
    if release is None:
        return
    bench.details["released"] = f"version {release.version} in {folder / FILE}"
    version = None if subject.of_set is None else subject.of_set.declaration.version
    if version is not None and major(version) > major(release.version):
        return
    old = release.schemas.get(subject.name)
    if old is not None and not is_compatible(schema_text(schema), old, subject):
        changes = changed(parsed(old, subject), parsed(schema_text(schema), subject))
        yield bench.finding(
            CHANGED,
            expected=f"what takes the calls of {old}, released in {release.version}",
            got=f"{schema}{''.join(f'; {each}' for each in changes)}",
            place=place(subject),
            script=(
                f"old = torch._C.parse_schema({old!r})",
                "assert operator._schema.is_backward_compatible_with(old)",
            ),
        )
    there = operators(subject)
    for name in sorted(release.schemas.keys() - there):
        if neighbour(name, there) == subject.name:
            yield bench.finding(
                REMOVED,
                expected=f"{name}, released in {release.version}",
                got="no operator of this name",
                place=subject.place if subject.facts is None else declaration_place(subject),
            )


def operators(subject: Subject) -> set[str]:
    """Return the operators that are checked together, with namespace."""
    if subject.of_set is None:
        return set(dispatcher.names_in(subject.namespace))
    declared_ones = [each for each in subject.of_set.operators if each.role == "declared"]
    return {f"{subject.namespace}::{each.operator.name}" for each in declared_ones}


def declaration_place(subject: Subject) -> str:
    """Return where the operator set is declared."""
    assert subject.of_set is not None
    return str(subject.of_set.declaration.place)


def major(version: str) -> int:
    """Return the major version."""
    first = version.partition(".")[0]
    return int(first) if first.isdigit() else 0


def is_compatible(new: str, old: str, subject: Subject) -> bool:
    """Tell whether a schema takes all calls of an older one, by torch's rule."""
    parse: Any = torch._C.parse_schema  # noqa: SLF001 - it has no public name
    now, before = (parse(unnamed(each, subject)) for each in (new, old))
    compatible: bool = now.is_backward_compatible_with(before)
    return compatible


def unnamed(text: str, subject: Subject) -> str:
    """Return a schema without names of results, which callers do not see."""
    schema = parsed(text, subject)
    if schema is None:
        return text
    results = tuple(dataclasses.replace(each, name=None) for each in schema.results)
    return f"{subject.namespace}::{dataclasses.replace(schema, results=results)}"


def changed(old: Schema | None, new: Schema | None) -> Iterator[str]:
    """Yield what differs, for a reader."""
    if old is None or new is None:
        return
    for index, was in enumerate(old.arguments):
        now = new.argument(was.name)
        if now is None:
            yield f"{was.name!r} is gone"
        elif str(now) != str(was):
            yield f"'{was}' became '{now}'"
        elif now.keyword_only != was.keyword_only:
            yield f"{was.name!r} became {'keyword-only' if now.keyword_only else 'positional'}"
        elif not was.keyword_only and new.arguments.index(now) != index:
            yield f"{was.name!r} has moved"
    for now in new.arguments:
        if old.argument(now.name) is None and now.default is None:
            yield f"{now.name!r} is new and has no default"
    were, are = ([f"{r.type}{r.alias or ''}" for r in s.results] for s in (old, new))
    if were != are:
        yield f"results ({', '.join(were)}) became ({', '.join(are)})"


ROW = Row(
    name="schema",
    title="the schema is well-formed and takes the calls of the last release",
    kinds=(
        DEFAULT,
        NAME,
        DUPLICATE,
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
