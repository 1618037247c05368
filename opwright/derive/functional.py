"""The functional twin of a mutating operator: it returns what the operator would have written.

Its kernel clones the written arguments and calls the same aclnn function.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.declare.schema import Result, Schema
from opwright.derive.facts import OperatorFacts, Output

if TYPE_CHECKING:
    from opwright.declare.operator import Operator

__all__ = ["functional_name", "functional_twin"]


def functional_name(operator: Operator) -> str:
    """Return the name of the functional twin.

    The default drops the underscore of in-place names, so `scale_` has `scale_functional`; an
    overload keeps its overload name.
    """
    name = operator.functional or f"{operator.schema.name.rstrip('_')}_functional"
    overload = operator.schema.overload
    return f"{name}.{overload}" if overload and "." not in name else name


def functional_twin(facts: OperatorFacts) -> OperatorFacts:
    """Return the functional twin.

    Its results are those of the operator that are no arguments, then the new values of the written
    arguments in the order of the schema.
    """
    name, _, overload = functional_name(facts.operator).partition(".")
    mutated = facts.schema.mutated
    own = [output for output in facts.outputs if output.is_new]
    results = [facts.schema.results[output.result] for output in own if output.result is not None]
    schema = Schema(
        name=name,
        overload=overload,
        arguments=tuple(
            dataclasses.replace(argument, alias=None) for argument in facts.schema.arguments
        ),
        results=(*results, *(Result(type=argument.type) for argument in mutated)),
    )
    outputs = [dataclasses.replace(output, result=index) for index, output in enumerate(own)]
    outputs += [
        Output(
            name=argument.name,
            type=argument.type,
            result=len(own) + index,
            argument=argument.name,
        )
        for index, argument in enumerate(mutated)
    ]
    return dataclasses.replace(
        facts,
        role="functional twin",
        schema=schema,
        outputs=tuple(outputs),
        clones=tuple(argument.name for argument in mutated),
        functional_twin=None,
        autograd=None,
    )
