"""A mutating operator for functionalization: its functional twin and its graph form.

The functional twin returns what the operator would have written: its kernel clones the written
arguments and calls the same aclnn function. The graph form writes, but returns no alias.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.kit.declare.schema import Result, Schema
from opwright.kit.derive.facts import OperatorFacts, Output

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator

__all__ = [
    "TAKEN_NAMES",
    "functional_name",
    "functional_twin",
    "graph_form",
    "has_graph_form",
    "only_observes",
]

# As in opwright.kit.shipped.graphs, which says why.
TAKEN_NAMES = frozenset({"ctx", "dispatch_key", "interpreter", "match", "mode"})


def functional_name(operator: Operator) -> str:
    """Return the name of the functional twin.

    The default drops the underscore of in-place names, so `rescale_` has `rescale_functional`; an
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


def has_graph_form(facts: OperatorFacts) -> bool:
    """Return whether compiled graphs hold another form of the operator.

    One that is made of others is in no graph: they are.
    """
    aliased = [facts.schema.aliased_argument(result) for result in facts.schema.results]
    return (
        facts.functional_twin is not None
        and facts.python is None
        and all(argument is None or argument.is_written for argument in aliased)
    )


def only_observes(facts: OperatorFacts) -> bool:
    """Return whether an operator neither writes nor returns: compilers would drop its calls."""
    return not facts.schema.results and not facts.schema.mutated


def graph_form(facts: OperatorFacts) -> OperatorFacts:
    """Return the graph form of a mutating operator: without the results that are arguments.

    torch functionalizes such operators by itself, and compilers undo that where nobody sees it.
    """
    kept = [
        index
        for index, result in enumerate(facts.schema.results)
        if facts.schema.aliased_argument(result) is None
    ]
    schema = dataclasses.replace(
        facts.schema,
        name=f"_mutate_{facts.schema.name}",
        arguments=tuple(
            dataclasses.replace(each, name=f"{each.name}_argument")
            if each.name in TAKEN_NAMES
            else each
            for each in facts.schema.arguments
        ),
        results=tuple(facts.schema.results[index] for index in kept),
    )
    outputs = tuple(
        dataclasses.replace(
            output, result=kept.index(output.result) if output.result in kept else None
        )
        for output in facts.outputs
    )
    return dataclasses.replace(
        facts, schema=schema, outputs=outputs, functional_twin=None, autograd=None
    )
