"""A valid declaration -> the facts that all deliverables are made from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.kit.declare.call import camel_case
from opwright.kit.derive.backward import derive_backward
from opwright.kit.derive.call import derive_call
from opwright.kit.derive.facts import OperatorFacts, PythonKernel, SetFacts
from opwright.kit.derive.functional import functional_name, functional_twin
from opwright.kit.derive.outputs import derive_outputs
from opwright.kit.derive.prototype import derive_prototype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.aclnn.prototype import Prototype
    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.derive.facts import Output

__all__ = ["derive"]


def derive(declaration: Declaration) -> SetFacts:
    """Return the facts of all operators.

    Raises
    ------
    DeclarationError
        What `opwright.kit.validate` would have found.
    """
    declared = {operator.name: operator for operator in declaration.operators}
    return SetFacts(
        declaration=declaration,
        operators=tuple(
            facts
            for operator in declaration.operators
            for facts in derive_operator(operator, declaration, declared)
        ),
    )


def derive_operator(
    operator: Operator, declaration: Declaration, declared: Mapping[str, Operator]
) -> Iterator[OperatorFacts]:
    """Return the facts of an operator, of its functional twin and of its backward."""
    where = f"{operator.place}, operator {declaration.namespace}::{operator.name}"
    facts = own_facts(operator, where=where, existing=declaration.existing)
    backward = derive_backward(operator, facts.outputs, declared)
    if backward is not None:
        facts = dataclasses.replace(facts, autograd=backward[0])
    if not facts.schema.mutated:
        yield facts
    else:
        facts = dataclasses.replace(facts, functional_twin=functional_name(operator))
        yield facts
        if facts.functional_twin not in declared:
            yield functional_twin(facts)
    if backward is not None and backward[1] is not None:
        yield backward[1]


def own_facts(operator: Operator, *, where: str, existing: bool) -> OperatorFacts:
    """Return the facts of an operator without what is derived beside it.

    Parameters
    ----------
    existing
        Whether another library has it: then it has kernels, and calls nothing of ours.
    """
    schema = operator.schema
    outputs, checks = derive_outputs(operator, where=where)
    is_composite = operator.call is False
    is_theirs = existing and operator.prototype is None
    prototype = None if is_theirs else prototype_of(operator, outputs)
    of_graphs = None if is_drawn_in_graphs(operator) else prototype
    call = None
    if operator.call is not False and not existing:
        call = derive_call(schema, outputs, operator.call, prototype, where=where)
    python = PythonKernel(kind="reference", function=operator.reference) if is_composite else None
    return OperatorFacts(
        role="declared",
        operator=operator,
        schema=schema,
        outputs=outputs,
        checks=checks,
        dtypes=operator.dtypes,
        call=call,
        python=python,
        prototype=of_graphs,
    )


def is_drawn_in_graphs(operator: Operator) -> bool:
    """Return whether a derived node would have a seed and an offset as attributes.

    A compiled graph would draw the same numbers in each run, so nothing is derived for graphs.
    """
    return bool(operator.schema.generators) and operator.converter is None


def prototype_of(operator: Operator, outputs: tuple[Output, ...]) -> Prototype | None:
    """Return the prototype: the author's, or one derived from the schema."""
    given = operator.prototype
    if given is False or (given is None and operator.call is False):
        return None
    if given is None or isinstance(given, str):
        function = operator.call.function if operator.call else ""
        name = given or function.removeprefix("aclnn") or camel_case(operator.schema.name)
        return derive_prototype(operator.schema, outputs, name)
    return given
