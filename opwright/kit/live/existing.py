"""Operators of another library, which work eagerly: what they lack in graphs is registered.

That is Meta, functionalization where torch has none or a wrong one, and TorchAir's converter where
the declaration has a prototype or a converter. torch takes an operator
that writes a keyword-only argument and returns it for an `out=` variant, one that never reads what
was in the tensor; a cache that is written in part would start empty in each graph.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from opwright.internals.library import tag
from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.errors import SchemaError
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.derive.functional import has_graph_form
from opwright.kit.live import dispatcher
from opwright.kit.live.errors import RegistrationError
from opwright.kit.live.fake import fake_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.facts import OperatorFacts
    from opwright.kit.live.live_operator import LiveOperator
    from opwright.kit.live.registration import Registrations

__all__ = ["complete"]


def complete(
    operators: Sequence[LiveOperator], registrations: Registrations
) -> Iterator[OperatorFacts]:
    """Register what the declared operators lack, and yield what they are for converters.

    Raises
    ------
    RegistrationError
        OPW-L002: there is no such operator, it has another schema, or it lacks nothing.
    """
    for live in operators:
        if live.facts.role == "declared":
            yield complete_operator(live, registrations)


def complete_operator(live: LiveOperator, registrations: Registrations) -> OperatorFacts:
    """Register what one operator lacks; return what it is for converters."""
    operator = existing_operator(live)
    # A set that is loaded again has the Meta of the declaration before.
    is_ours = registrations.is_over and dispatcher.has_fake(live.namespace, live.facts.name)
    lacks_meta = is_ours or not dispatcher.has_kernel(operator, "Meta")
    lacks_graph_form = has_graph_form(live.facts) and not is_functionalized(operator)
    has_converter = live.facts.prototype is not None or live.facts.operator.converter is not None
    if not lacks_meta and not lacks_graph_form and not has_converter:
        got = "an operator with Meta, which torch functionalizes"
        raise RegistrationError(where=live.where, got=got, fix="remove it from the declaration")
    if lacks_meta:
        registrations.implement(live.facts.name, fake_kernel(live), "Meta")
    if lacks_graph_form:
        registrations.graph_form(live.facts.schema, where=live.where)
        return live.facts
    return dataclasses.replace(live.facts, functional_twin=None)


def is_functionalized(operator: Any) -> bool:  # noqa: ANN401 - torch.ops has no types
    """Return whether graphs are right without us: by a kernel, or by what torch does itself.

    torch does it for operators with its tag, if it is a torch that has the tag.
    """
    returned = any(result.alias_info is not None for result in operator._schema.returns)  # noqa: SLF001 - it has no public name
    return (
        dispatcher.has_kernel(operator, "Functionalize")
        or not returned
        or tag("inplace") in operator.tags
    )


def existing_operator(live: LiveOperator) -> Any:  # noqa: ANN401 - torch.ops has no types
    """Return the operator in torch.ops, if it is as it was declared."""
    names = dispatcher.names_in(live.namespace)
    if live.name not in names:
        fix = "import the library that has it before, or correct the name"
        raise RegistrationError(where=live.where, got="no operator of this name", fix=fix)
    operator = live.overload()
    text = str(operator._schema).partition("::")[2]  # noqa: SLF001 - it has no public name
    if make_comparable(live.facts.schema) != make_comparable(read_back(text, live)):
        fix = f"declare it as {text}"
        raise RegistrationError(where=live.where, got=f"{live.facts.schema}", fix=fix)
    return operator


def read_back(text: str, live: LiveOperator) -> Schema:
    """Return the schema that torch prints."""
    try:
        return parse_schema(text, where=live.where)
    except SchemaError as error:
        got = f"a schema that cannot be declared: {text}"
        raise RegistrationError(where=live.where, got=got) from error


def make_comparable(schema: Schema) -> Schema:
    """Return a schema without what is spelled in several ways: names of results, defaults."""
    return dataclasses.replace(
        schema,
        arguments=tuple(
            a if a.default is None else dataclasses.replace(a, default=repr(default_value(a)))
            for a in schema.arguments
        ),
        results=tuple(dataclasses.replace(r, name=None) for r in schema.results),
    )
