"""The tests of the generated package: tables of cases, made from the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.rules import DtypeSet, dtype_source
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.declare.schema import Base
from opwright.kit.derive.unspecified import unspecified_outputs
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.text import WIDTH, Group, bracket, lay_out, literal, strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.sample import Value
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.emit.options import EmitOptions
    from opwright.kit.emit.python.source import Extracted

__all__ = ["emit_suite"]

NPU_TEST = """

@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_npu_computes_what_the_reference_computes(case: Case) -> None:
    if "npu" not in devices():
        pytest.skip("needs an NPU; pytest --npu-twin of opwright runs it without one")
    operator = overload(NAMESPACE, case.operator)
    want = call(operator, make(case, "cpu"))
    got = call(operator, make(case, "npu"))
"""

COMPARED = """\
    assert_same(got, want, TOLERANCES.get(case.operator, {}))
"""

COMPARED_IN_PART = """\
    got, want = drop_unspecified(case, got), drop_unspecified(case, want)
    assert_same(got, want, TOLERANCES.get(case.operator, {}))
"""

META_TEST = """

@pytest.mark.parametrize("case", CASES, ids=str)
def test_meta_says_the_shapes_and_dtypes_of_the_results(case: Case) -> None:
    operator = overload(NAMESPACE, case.operator)
    want = call(operator, make(case, "cpu"))
    got = call(operator, make(case, "meta"))
    described = [[(t.shape, t.dtype) for t in flat(results)] for results in (got, want)]
    assert described[0] == described[1]
"""

ERROR_TEST = """

@pytest.mark.parametrize("device", [*devices(), "meta"])
@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_is_wrong_is_refused(case: Case, device: str) -> None:
    with pytest.raises((RuntimeError, ValueError, TypeError), match=re.escape(case.match)):
        call(overload(NAMESPACE, case.operator), make(case, device))
"""

GRADIENT_TEST = """

@pytest.mark.parametrize("case", SLOPES, ids=str)
def test_gradients_are_the_slopes_of_the_reference(case: Case) -> None:
    operator, function = overload(NAMESPACE, case.operator), REFERENCES[case.operator]
    binder = Binder(operator)

    def reference(values: dict[str, Any]) -> list[Any]:
        given = {**binder.defaults, **values}
        results = binder.as_results(given, binder.call(function, given))
        results = list(results) if isinstance(results, tuple) else [results]
        return [*results, *(given[name] for name in binder.written)]

    got, want = slopes(operator, reference, case, DIFFERENTIABLE[case.operator])
    assert got == pytest.approx(want, rel=2e-2, abs=2e-3)


@pytest.mark.parametrize("case", SLOPES, ids=str)
def test_the_npu_has_the_same_gradients(case: Case) -> None:
    if "npu" not in devices():
        pytest.skip("needs an NPU; pytest --npu-twin of opwright runs it without one")
    assert_same(gradients(case, "npu"), gradients(case, "cpu"), TOLERANCES.get(case.operator, {}))


def gradients(case: Case, device: str) -> list[Any]:
    leaves = make(case, device, requires_grad=DIFFERENTIABLE[case.operator])
    results = call(overload(NAMESPACE, case.operator), copied(leaves))
    total = sum(each.float().sum() for each in flat(results) if each.requires_grad)
    inputs = [each for each in flat(list(leaves.values())) if each.requires_grad]
    return list(torch.autograd.grad(total, inputs, materialize_grads=True))
"""

OPCHECK_TEST = """

@pytest.mark.parametrize("case", CASES, ids=str)
def test_torch_finds_nothing_wrong(case: Case) -> None:
    operator = overload(NAMESPACE, case.operator)
    written = [a.name for a in operator._schema.arguments if a.alias_info and a.alias_info.is_write]
    names = tuple(n for n in DIFFERENTIABLE.get(case.operator, ()) if n not in written)
    values = make(case, "cpu", requires_grad=names)
    torch.library.opcheck(operator, (), values)
"""


def emit_suite(facts: SetFacts, extracted: Extracted, options: EmitOptions) -> str:
    """Return the tests: tables of cases, and one test for each thing that must hold."""
    package = options.package
    operators = [each for each in facts.operators if each.role == "declared"]
    refused = [text for each in operators for text in list_refused(each)]
    cases = [text for each in operators for text in cases_of(each)]
    # A slope is a difference quotient, which narrow dtypes are too coarse for.
    compared = [each for each in operators if each.autograd and each.operator.reference]
    slopes = [
        text
        for each in compared
        for text in cases_of(each)
        if "torch.float32" in str(text) and "float16" not in str(text)
    ]
    tables = [
        f"NAMESPACE = {literal(facts.declaration.namespace)}",
        *table("CASES: list[Case] = [", cases, "]"),
        *(table("REFUSED: list[Case] = [", refused, "]") if refused else []),
        *tolerances(operators),
        *write_differentiable(operators),
    ]
    if slopes:
        functions = [
            f"{literal(each.name)}: _reference.{extracted.name(each.operator.reference)}"
            for each in compared
            if each.operator.reference is not None
        ]
        tables += table("SLOPES: list[Case] = [", slopes, "]")
        tables += table("REFERENCES: dict[str, Callable[..., Any]] = {", functions, "}")
    in_part = any(
        find_unspecified(each, dict(sample.values))
        for each in operators
        for sample in each.operator.samples
    )
    tests = (
        NPU_TEST,
        COMPARED_IN_PART if in_part else COMPARED,
        META_TEST,
        ERROR_TEST if refused else "",
        GRADIENT_TEST if slopes else "",
        OPCHECK_TEST,
    )
    support = ["Case", "assert_same", "call", "devices", "flat", "make", "overload"]
    support += ["copied", "slopes"] if slopes else []
    support += ["drop_unspecified"] if in_part else []
    support += ["tensor"] if any("tensor(" in str(each) for each in [*cases, *refused]) else []
    of_slopes = [f"from {package} import _reference", f"from {package}._runtime import Binder"]
    return module(
        f"The operators of {options.package}, by the samples of their declaration.",
        tables,
        "".join(tests).strip("\n").splitlines(),
        source=facts.declaration.source.name,
        imports=[
            [
                *(["import re"] if refused else []),
                *(["from typing import TYPE_CHECKING, Any"] if slopes else []),
            ],
            ["import pytest", "import torch", write_import("support", sorted(support))],
            [
                f"import {package}  # noqa: F401 - loads the operators",
                *(of_slopes if slopes else []),
            ],
            ["if TYPE_CHECKING:", "    from collections.abc import Callable"] if slopes else [],
        ],
        comments=["# ruff: noqa: SLF001"],
    )


def tolerances(operators: Sequence[OperatorFacts]) -> list[str]:
    """Return the table of rtol and atol by dtype, where the author gave them."""
    rows = []
    for each in operators:
        given = ", ".join(
            f"torch.{dtype}: ({tolerance.rtol!r}, {tolerance.atol!r})"
            for dtype, tolerance in sorted(each.operator.tolerances.items())
        )
        if given:
            rows.append(f"{literal(each.name)}: {{{given}}}")
    return table("TOLERANCES: dict[str, dict[torch.dtype, tuple[float, float]]] = {", rows, "}")


def write_differentiable(operators: Sequence[OperatorFacts]) -> list[str]:
    """Return the table of the arguments that gradients flow to."""
    rows = [
        f"{literal(each.name)}: {strings(each.autograd.inputs)}"
        for each in operators
        if each.autograd is not None
    ]
    return table("DIFFERENTIABLE: dict[str, tuple[str, ...]] = {", rows, "}")


def write_import(name: str, names: list[str]) -> str:
    """Write an import."""
    line = f"from {name} import {', '.join(names)}"
    return line if len(line) <= WIDTH else bracket(f"from {name} import (", names, ")")


def table(opening: str, items: Sequence[str | Group], closing: str) -> list[str]:
    """Write a table, one row on each line."""
    if not items:
        return [opening + closing]
    rows = [line for item in items for line in lay_out(item, indent="    ", tail=",")]
    return [opening, *rows, closing]


def cases_of(operator: OperatorFacts) -> Iterator[Group]:
    """Return the cases of the samples, each for all dtypes that it leaves open."""
    for sample in operator.operator.samples:
        values = dict(sample.values)
        for dtype in open_dtypes(operator, values):
            yield case(operator, values, dtype)


def list_refused(operator: OperatorFacts) -> Iterator[Group]:
    """Return the cases of error samples."""
    for sample in operator.operator.errors:
        values = dict(sample.values)
        yield case(operator, values, open_dtypes(operator, values)[0], match=sample.match)


def open_dtypes(operator: OperatorFacts, values: Mapping[str, Value]) -> tuple[str | None, ...]:
    """Return the dtypes of the first tensor whose dtype a sample leaves open."""
    for name, value in values.items():
        items = value if isinstance(value, tuple) else (value,)
        if not any(isinstance(each, TensorSpec) and each.dtype is None for each in items):
            continue
        rule = root_rule(operator, name)
        return rule.names if isinstance(rule, DtypeSet) else (None,)
    return (None,)


def root_rule(operator: OperatorFacts, name: str) -> DtypeRule | None:
    """Return the rule for the dtype of an argument."""
    return operator.dtypes.get(dtype_source(operator.dtypes, name))


def case(
    operator: OperatorFacts,
    values: Mapping[str, Value],
    dtype: str | None,
    match: str | None = None,
) -> Group:
    """Return a case as text.

    Parameters
    ----------
    dtype
        Of the first tensor whose dtype is open, and of those that have the same.
    """
    chosen: dict[str, str] = {}
    for name, value in values.items():
        items = value if isinstance(value, tuple) else (value,)
        for each in items:
            if isinstance(each, TensorSpec) and each.dtype is not None:
                chosen.setdefault(dtype_source(operator.dtypes, name), each.dtype)
    first = dtype
    parts: list[str | Group] = []
    for argument in operator.schema.arguments:
        if argument.name not in values:
            continue
        root = dtype_source(operator.dtypes, argument.name)
        if root not in chosen and has_open(values[argument.name]):
            rule = operator.dtypes.get(root)
            names = rule.names if isinstance(rule, DtypeSet) else ("float32",)
            chosen[root] = first if first in names and first is not None else names[0]
            first = None
        text = value_group(values[argument.name], argument, chosen.get(root, "float32"))
        key = literal(argument.name)
        if isinstance(text, Group):
            parts.append(Group(f"{key}: {text.opening}", text.items, text.closing))
        else:
            parts.append(f"{key}: {text}")
    given: list[str | Group] = [literal(operator.name), Group("{", tuple(parts), "}")]
    if match is not None:
        given.append(f"match={literal(match)}")
    elif places := find_unspecified(operator, values):
        given.append(f"unspecified={literal(places)}")
    return Group("Case(", tuple(given), ")")


def find_unspecified(operator: OperatorFacts, values: Mapping[str, Value]) -> tuple[int, ...]:
    """Return the places of the results whose values a case leaves open."""
    if not operator.operator.unspecified:
        return ()
    arguments = operator.schema.arguments
    given = {a.name: values[a.name] if a.name in values else default_value(a) for a in arguments}
    names = unspecified_outputs(operator.outputs, given)
    return tuple(o.result for o in operator.outputs if o.name in names and o.result is not None)


def has_open(value: Value) -> bool:
    """Return whether a value has a tensor whose dtype is open."""
    items = value if isinstance(value, tuple) else (value,)
    return any(isinstance(each, TensorSpec) and each.dtype is None for each in items)


def value_group(value: Value, argument: Argument, dtype: str) -> str | Group:
    """Return a value of a sample."""
    match value:
        case TensorSpec():
            parts = [str(size) for size in value.shape] + [f"dtype=torch.{value.dtype or dtype}"]
            parts += [
                f"{name}={bound!r}"
                for name, bound in (("low", value.low), ("high", value.high))
                if bound is not None
            ]
            if value.layout != "contiguous":
                parts.append(f"layout={literal(value.layout)}")
            if value.values is not None:
                parts.append(f"values={literal(value.values)}")
            return Group("tensor(", tuple(parts), ")")
        case tuple():
            return Group("[", tuple(value_group(v, argument, dtype) for v in value), "]")
        case str() if argument.type.base in {Base.SCALAR_TYPE, Base.LAYOUT, Base.MEMORY_FORMAT}:
            return f"torch.{value}"
        case _:
            return literal(value)
