"""A valid declaration -> the facts that all deliverables are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.derive.backward import derive_backward
from opwright.kit.derive.call import derive_call
from opwright.kit.derive.facts import OperatorFacts, PythonKernel, SetFacts
from opwright.kit.derive.functional import functional_name, functional_twin
from opwright.kit.derive.outputs import derive_outputs
from opwright.kit.derive.prototype import prototype_of
from opwright.kit.derive.values import value_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.kit.declare.operator import Declaration, Operator

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
    """Yield the facts of an operator, of its functional twin and of its backward."""
    schema = operator.schema
    where = f"{operator.place}, operator {declaration.namespace}::{operator.name}"
    values = value_facts(operator)
    outputs, checks = derive_outputs(operator, values, where=where)
    # An operator of another library has kernels, and calls nothing of ours.
    is_theirs = declaration.existing and operator.prototype is None
    prototype = None if is_theirs else prototype_of(operator, outputs, values)
    call = None
    if operator.call is not False and not declaration.existing:
        call = derive_call(operator, outputs, prototype, values, where=where)
    autograd, backward = derive_backward(operator, outputs, values, declared)
    # A derived node would have a seed and an offset as attributes: a compiled graph would draw the
    # same numbers in each run.
    is_drawn = bool(schema.generators) and operator.converter is None
    is_composite = operator.call is False
    facts = OperatorFacts(
        role="declared",
        operator=operator,
        schema=schema,
        outputs=outputs,
        checks=checks,
        dtypes=operator.dtypes,
        call=call,
        python=PythonKernel(kind="reference", function=operator.reference)
        if is_composite
        else None,
        prototype=None if is_drawn else prototype,
        functional_twin=functional_name(operator) if schema.mutated else None,
        autograd=autograd,
    )
    yield facts
    if schema.mutated and facts.functional_twin not in declared:
        yield functional_twin(facts)
    if backward is not None:
        yield backward
