"""TorchAir's converters of operators in this process: the modules that a package would have.

TorchAir takes seconds to import, so they are made when a program imports it.
"""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opwright.internals.modules import GE_CONVERTER
from opwright.kit.derive.functional import graph_form, has_graph_form
from opwright.kit.emit.options import EmitOptions
from opwright.kit.emit.python.converter_checks import check_converters
from opwright.kit.emit.python.converters import emit_converters, list_authored
from opwright.kit.emit.python.ge import emit_ge
from opwright.kit.emit.python.prototypes import graph_operators
from opwright.kit.live import arrival, dispatcher
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.live.registration import Registrations

__all__ = ["TORCHAIR", "register_converters"]

TORCHAIR = "torch_npu.dynamo.torchair"


class Converters:
    """The converters of a set; `remove` takes them from TorchAir."""

    def __init__(self, operators: list[Any]) -> None:
        self.kept = [(operator, getattr(operator, GE_CONVERTER, None)) for operator in operators]

    def remove(self) -> None:
        """Remove the converters, unless others took their place; a second call does nothing."""
        while self.kept:
            operator, converter = self.kept.pop()
            if converter is not None and getattr(operator, GE_CONVERTER, None) is converter:
                delattr(operator, GE_CONVERTER)
                find_supported_samples().pop(operator, None)


def find_supported_samples() -> dict[Any, Any]:
    """Return TorchAir's table of the samples that converters support."""
    from opwright.internals.converters import declared_supported_converters  # noqa: PLC0415 - TorchAir is imported already

    return declared_supported_converters


def register_converters(facts: SetFacts, registrations: Registrations) -> None:
    """Register the converters of a set as soon as TorchAir is imported.

    Raises
    ------
    ConverterParametersError, ConverterNodeError
        OPW-E004, OPW-E005: a converter that the author wrote contradicts schema or prototype.
    """
    check_converters(facts)
    if not graph_operators(facts) and not list_authored(facts):
        return
    then = partial(register_now, facts, registrations)
    if arrival.is_imported(TORCHAIR):
        then()
    else:
        registrations.keep(arrival.Arrival(then, TORCHAIR))


def register_now(facts: SetFacts, registrations: Registrations) -> None:
    """Register the converters of a set."""
    namespace = facts.declaration.namespace
    package = f"opwright_live_{namespace}"
    options = EmitOptions(package=package, torch=installed_minor())
    functions = [each.operator.converter for each in list_authored(facts)]
    names = {id(function): f"converter_{index}" for index, function in enumerate(functions)}
    texts = {
        "ge": emit_ge(facts, options),
        "converters": emit_converters(facts, names, options),
    }
    given = {names[id(function)]: function for function in functions}
    run_modules(package, namespace, given, texts)
    operators = [dispatcher.overload(namespace, name) for name in names_of(facts)]
    registrations.keep(Converters(operators))


def names_of(facts: SetFacts) -> Iterator[str]:
    """Yield the operators that have converters."""
    for each in list_authored(facts):
        yield each.name
    for each in graph_operators(facts):
        if each.operator.converter is not None:
            continue
        yield each.name
        if has_graph_form(each):
            yield graph_form(each).name


def run_modules(
    package: str, namespace: str, given: Mapping[str, object], texts: Mapping[str, str]
) -> None:
    """Run emitted modules of a package that exists only while they are run.

    Parameters
    ----------
    given
        The author's functions, as the modules call them.
    """
    import torch  # noqa: PLC0415 - as the next one

    from opwright.kit.shipped import converting, writing  # noqa: PLC0415 - TorchAir is imported already

    operators = ModuleType(f"{package}._ops")
    vars(operators)["ops"] = getattr(torch.ops, namespace)
    reference = ModuleType(f"{package}._reference")
    vars(reference).update(given)
    whole = ModuleType(package)
    vars(whole)["_reference"] = reference
    modules = {
        package: whole,
        f"{package}._ops": operators,
        f"{package}._converting": converting,
        f"{package}._writing": writing,
    }
    sys.modules.update(modules)
    try:
        for name, text in texts.items():
            module = ModuleType(f"{package}.{name}")
            exec(compile(text, f"<{module.__name__}>", "exec"), vars(module))  # noqa: S102 - our own text
            sys.modules[module.__name__] = module
            vars(whole)[name] = module
    finally:
        for name in [*modules, *(f"{package}.{name}" for name in texts)]:
            sys.modules.pop(name, None)
