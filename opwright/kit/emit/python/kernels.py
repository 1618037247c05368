"""`_reference.py`, `_kernels.py` and `_registration.py`: the package's Python kernels."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.aten import find_aten_function
from opwright.kit.declare.backward import BackwardCall
from opwright.kit.declare.rules import Dims
from opwright.kit.derive.facts import Gradient, SavedArgument, SavedOutput
from opwright.kit.derive.functional import has_graph_form, only_observes
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.names import function_name, overload_expression
from opwright.kit.emit.python.text import Group, bracket, docstring, lay_out, literal, strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.kit.derive.facts import Autograd, OperatorFacts, SetFacts
    from opwright.kit.emit.options import EmitOptions
    from opwright.kit.emit.python.source import Extracted

__all__ = ["emit_kernels", "emit_reference", "emit_registration"]

MOST_STATEMENTS = 47  # of calls: ruff allows a function 50 statements


def emit_reference(facts: SetFacts, extracted: Extracted, options: EmitOptions) -> str:
    """Return the functions of the author."""
    source = facts.declaration.source.name
    imports = [each for each in extracted.imports if "__future__" not in each]
    own = [f"from {options.package}._ops import ops as _ops"] if extracted.uses_operators else []
    typing_imports = list(extracted.typing_imports)
    if typing_imports and not any("TYPE_CHECKING" in each for each in imports):
        imports.append("from typing import TYPE_CHECKING")
    checked = ["if TYPE_CHECKING:", *(f"    {each}" for each in typing_imports)]
    return module(
        f"Functions of {source}, without what declares operators.",
        *(text.splitlines() for text in extracted.body),
        source=source,
        imports=[imports, own, checked if typing_imports else []],
        comments=["# As the author wrote them.", "# mypy: ignore-errors"],
    )


def emit_kernels(facts: SetFacts, extracted: Extracted, options: EmitOptions) -> str:
    """Return the backward functions that are made of formulas and of references."""
    namespace = facts.declaration.namespace
    functions = []
    uses = {"torch": False, "ops": False, "_reference": False, "vjp": False}
    for operator in facts.operators:
        if operator.python is None or operator.python.kind not in {"formula", "vjp"}:
            continue
        if operator.python.kind == "formula":
            functions.append(formula_kernel(operator, facts, uses))
        else:
            functions.append(vjp_kernel(operator, facts, extracted))
            uses |= {"_reference": True, "vjp": True}
    package = options.package
    own = []
    if uses["_reference"]:
        own.append(f"from {package} import _reference")
    if uses["ops"]:
        own.append(f"from {package}._ops import ops")
    if uses["vjp"]:
        own.append(f"from {package}._vjp import vjp")
    return module(
        f"Backward functions of ``torch.ops.{namespace}`` that are made of other operators.",
        *functions,
        source=facts.declaration.source.name,
        imports=[["from typing import Any"], ["import torch"] if uses["torch"] else [], own],
        comments=["# ruff: noqa: ANN401", "# mypy: ignore-errors"],
    )


def formula_kernel(operator: OperatorFacts, facts: SetFacts, uses: dict[str, bool]) -> list[str]:
    """Return the function for a backward that is given as formulas."""
    assert operator.python is not None
    names = [argument.name for argument in operator.schema.arguments]
    typed = [f"{name}: Any" for name in names]
    head = bracket(f"def {function_name(operator.name)}(", typed, ") -> Any:")
    doc = f"Return the gradients of ``{operator.python.of}``."
    expressions = []
    counts = gradient_counts(operator)
    for formula, count in zip(operator.python.formulas, counts, strict=True):
        zero = write_absence(formula, operator)
        nothing = "None" if count == 1 else f"({', '.join(['None'] * count)})"
        text = with_operators(formula, names, facts, uses)
        guarded = f"{nothing} if {zero} else {text}" if zero else text
        expressions.append(f"*({guarded})" if count > 1 and len(counts) > 1 else guarded)
    body = f"    return {expressions[0]}"
    if len(expressions) > 1:
        body = bracket("return (", expressions, ")", indent="    ")
    return [head, *docstring(doc, indent="    "), body]


def gradient_counts(operator: OperatorFacts) -> list[int]:
    """Return how many gradients each formula gives."""
    assert operator.python is not None
    backward = operator.operator.backward
    assert isinstance(backward, BackwardCall)
    if len(backward.formulas) == 1:
        return [len(operator.schema.results)]
    return [len(formula.inputs) for formula in backward.formulas]


def write_absence(formula: str, operator: OperatorFacts) -> str:
    """Return the condition under which all gradients that a formula uses are zero."""
    used = {node.id for node in ast.walk(ast.parse(formula)) if isinstance(node, ast.Name)}
    conditions = []
    for argument in operator.schema.arguments:
        name, kind = argument.name, argument.type
        is_gradient = name == "grad" or name.startswith("grad_")
        if name in used and is_gradient and kind.optional:
            conditions.append(f"{name} is None")
        elif name in used and is_gradient and kind.optional_elements:
            conditions.append(f"all(each is None for each in {name})")
    return " and ".join(conditions)


def with_operators(
    expression: str, names: list[str], facts: SetFacts, uses: dict[str, bool]
) -> str:
    """Write the operators of the set, and torch's own, in a formula as calls through torch.ops."""
    declared = {operator.name: operator for operator in facts.operators}
    tree = ast.parse(expression, mode="eval")

    class Qualified(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            match node:
                case ast.Attribute(ast.Name(name), overload) if (
                    f"{name}.{overload}" in declared and name not in names
                ):
                    uses["ops"] = True
                    return ast.parse(f"ops.{name}.{overload}", mode="eval").body
            return self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> ast.AST:
            if node.id in names:
                return node
            if node.id in declared:
                uses["ops"] = True
                return ast.parse(overload_expression(declared[node.id], "ops"), mode="eval").body
            function = find_aten_function(node)
            if function is not None or node.id == "torch":
                uses["torch"] = True
            if function is not None:
                return ast.parse(f"torch.ops.aten.{function}", mode="eval").body
            return node

    return ast.unparse(Qualified().visit(tree))


def vjp_kernel(operator: OperatorFacts, facts: SetFacts, extracted: Extracted) -> list[str]:
    """Return the function for a backward that differentiates a reference."""
    assert operator.python is not None
    forward = facts.operator(operator.python.of)
    assert forward is not None
    assert forward.autograd is not None
    assert operator.python.function is not None
    autograd = forward.autograd
    names = [argument.name for argument in operator.schema.arguments]
    gradients = [
        n for n, a in zip(names, autograd.arguments, strict=True) if isinstance(a, Gradient)
    ]
    saved = {
        value.name: name
        for name, value in zip(names, autograd.arguments, strict=True)
        if not isinstance(value, Gradient)
    }
    typed = [f"{name}: Any" for name in names]
    head = bracket(f"def {function_name(operator.name)}(", typed, ") -> Any:")
    doc = f"Return the gradients of ``{operator.python.of}`` by differentiating its reference."
    values = "{" + ", ".join(f"{literal(name)}: {given}" for name, given in saved.items()) + "}"
    call = bracket(
        "return vjp(",
        [
            f"_reference.{extracted.name(operator.python.function)}",
            values,
            f"positional={strings(a.name for a in forward.schema.arguments if not a.keyword_only)}",
            f"written={strings(a.name for a in forward.schema.mutated)}",
            f"inputs={strings(autograd.inputs)}",
            f"outputs={literal(output_places(forward))}",
            f"gradients=({', '.join(gradients)}{',' if len(gradients) == 1 else ''})",
        ],
        ")",
        indent="    ",
    )
    return [head, *docstring(doc, indent="    "), call]


def output_places(forward: OperatorFacts) -> tuple[int | str, ...]:
    """Return where each differentiable output is: a place among the results, or an argument."""
    assert forward.autograd is not None
    places: list[int | str] = []
    for name in forward.autograd.outputs:
        output = forward.output(name)
        assert output is not None
        if output.argument is not None:
            places.append(output.argument)
        else:
            assert output.result is not None
            places.append(output.result)
    return tuple(places)


def emit_registration(facts: SetFacts, extracted: Extracted, options: EmitOptions) -> str:
    """Return the module that registers the Python kernels."""
    calls = [line for operator in facts.operators for line in registrations(operator, extracted)]
    differentiation = []
    if options.stable_abi:
        calls += [
            bracket(
                "registrar.meta(",
                [literal(each.name), f"_meta.{function_name(each.name)}"],
                ")",
                indent="    ",
            )
            for each in facts.operators
            if each.call is not None
        ]
        differentiation = [line for each in facts.operators for line in stable_calls(each, facts)]
        if differentiation:
            calls += ["    in_front = Differentiation(registrar)", *differentiation]
    forms = graph_forms(facts)
    package = options.package
    used = [
        name
        for name in ("_kernels", "_meta", "_reference")
        if any(f"{name}." in call for call in calls)
    ]
    own = [f"from {package} import {', '.join(used)}"] if used else []
    if differentiation:
        names = ["Backward", "Differentiation"]
        names = names if any("Backward(" in each for each in differentiation) else names[1:]
        own.append(f"from {package}._autograd import {', '.join(names)}")
    if forms:
        own.append(f"from {package}._graphs import register_graph_form")
    own.append(f"from {package}._runtime import Registrar")
    doc = "Registers what is written in Python: CPU kernels, backward functions, vmap, autocast."
    body = [
        "def register() -> Registrar:",
        *docstring("Register all kernels; they stay as long as what is returned.", indent="    "),
        f"    registrar = Registrar({literal(facts.declaration.namespace)})",
        *calls,
        *forms,
        "    return registrar",
    ]
    is_long = len(calls) + len(forms) > MOST_STATEMENTS
    return module(
        doc,
        body,
        source=facts.declaration.source.name,
        imports=[own],
        comments=["# ruff: noqa: PLR0915"] if is_long else [],
    )


def graph_forms(facts: SetFacts) -> list[str]:
    """Return the lines that register what compiled graphs hold instead of mutating operators."""
    names = [each.name for each in facts.operators if has_graph_form(each)]
    if not names:
        return []
    return [
        bracket("for name in [", [literal(name) for name in names], "]:", indent="    "),
        "        binder = registrar.binder(name)",
        "        register_graph_form(registrar.library, binder.operator, binder.results)",
    ]


def registrations(operator: OperatorFacts, extracted: Extracted) -> Iterator[str]:
    """Return the calls that register the kernels of an operator."""
    declared = operator.operator
    name = literal(operator.name)
    # Autograd, which a vjp uses, does not see through a batch.
    is_vjp = operator.python is not None and operator.python.kind == "vjp"
    has_rule = operator.role == "declared" and not isinstance(declared.vmap, str)

    def call(method: str, *items: str) -> str:
        return bracket(f"registrar.{method}(", [name, *items], ")", indent="    ")

    if operator.role == "functional twin":
        key = ['key="CompositeImplicitAutograd"'] if operator.python is not None else []
        if key or declared.reference is not None:
            yield call("functional_twin", f"of={literal(operator.operator.name)}", *key)
    elif operator.python is not None:
        rule = ["has_rule=True"] if is_vjp or has_rule else []
        yield call("composite", python_function(operator, extracted), *rule)
    elif declared.reference is not None:
        yield call("reference", f"_reference.{extracted.name(declared.reference)}")
    if is_vjp:
        yield call("vmap_loop")
    if operator.role == "backward":
        return
    if has_rule and callable(declared.vmap):
        yield call("vmap", f"_reference.{extracted.name(declared.vmap)}")
    elif operator.python is None and operator.schema.arguments:
        if declared.vmap == "batch first" and operator.role == "declared":
            fixed = fixed_rank(operator)
            yield call("vmap_batch_first", *([f"unbatched={strings(fixed)}"] if fixed else []))
        else:
            yield call("vmap_loop")
    if declared.autocast is not None:
        yield call("autocast", literal(declared.autocast))
    if only_observes(operator) and operator.python is None:
        yield call("side_effect")


def stable_calls(operator: OperatorFacts, facts: SetFacts) -> Iterator[str]:
    """Return the calls that register what the stable ABI has no C++ for."""
    if operator.call is None:
        return
    name, twin = literal(operator.name), literal(operator.functional_twin)
    autograd = operator.autograd
    if operator.role == "functional twin":
        mutating = facts.operator(operator.operator.name)
        autograd = mutating.autograd if mutating else None
    if operator.schema.is_out_variant:
        yield f"    in_front.refuse({name})"
    elif operator.functional_twin is not None:
        inputs = strings(autograd.inputs) if autograd else "None"
        yield bracket(
            "in_front.through_twin(", [name, twin, f"inputs={inputs}"], ")", indent="    "
        )
    elif any(result.type.has_tensors for result in operator.schema.results):
        outputs = strings(operator.schema.output_names())
        if operator.role == "functional twin":
            outputs = strings(output.name for output in operator.outputs)
        backward = "None" if autograd is None else backward_group(autograd, facts)
        call = Group("in_front.through_node(", (name, outputs, backward), ")")
        yield "\n".join(lay_out(call, indent="    "))
    if operator.schema.mutated:
        yield f"    in_front.count_versions({name})"
    if operator.functional_twin is not None:
        yield f"    in_front.functionalize({name}, {twin})"


def backward_group(autograd: Autograd, facts: SetFacts) -> Group:
    """Return how gradients are computed."""
    kinds = {Gradient: "gradient", SavedArgument: "argument", SavedOutput: "output"}
    arguments = tuple(
        (kinds[type(each)], each.output if isinstance(each, Gradient) else each.name)
        for each in autograd.arguments
    )
    items: list[str | Group] = [
        f"operator={literal(autograd.operator)}",
        Group("arguments=(", tuple(map(literal, arguments)), ")")
        if len(arguments) > 1
        else f"arguments={literal(arguments)}",
        f"inputs={strings(autograd.inputs)}",
        f"outputs={strings(autograd.outputs)}",
    ]
    backward = facts.operator(autograd.operator)
    if backward is not None and has_mixed_gradients(backward):
        items.append("materialize=True")
    return Group("Backward(", tuple(items), ")")


def has_mixed_gradients(backward: OperatorFacts) -> bool:
    """Return whether a formula uses several gradients, so that it needs all or none of them."""
    python = backward.python
    if python is None or python.kind != "formula":
        return False
    return any(" and " in write_absence(formula, backward) for formula in python.formulas)


def fixed_rank(operator: OperatorFacts) -> tuple[str, ...]:
    """Return the tensors that cannot have more axes in front, by their patterns."""
    shapes = operator.operator.shapes
    return tuple(
        argument.name
        for argument in operator.schema.arguments
        if argument.type.has_tensors
        and isinstance(rule := shapes.get(argument.name), Dims)
        and not rule.text.strip().startswith("*")
    )


def python_function(operator: OperatorFacts, extracted: Extracted) -> str:
    """Return the function that is a composite operator's kernel."""
    python = operator.python
    assert python is not None
    match python.kind:
        case "reference" | "backward":
            assert python.function is not None
            return f"_reference.{extracted.name(python.function)}"
        case "formula" | "vjp":
            return f"_kernels.{function_name(operator.name)}"
        case _:
            assert_never(python.kind)
