"""A declaration -> operators in this process, and the handle that removes them.

Everything is registered, or nothing. A set that is loaded again, after its file was edited or its
module reloaded, replaces what is there; handles and functions of the old one then stand for the new
one. NPU kernels are registered when torch_npu is imported: at once, or as soon as that happens.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from opwright.errors import OpwrightError
from opwright.kit.derive import derive
from opwright.kit.derive.functional import has_graph_form, only_observes
from opwright.kit.live import arrival, dispatcher, user_kernels
from opwright.kit.live.autograd import autograd_kernels
from opwright.kit.live.converters import register_converters
from opwright.kit.live.current import current_sets
from opwright.kit.live.errors import NamespaceTakenError, UnknownOperatorError, UnloadedError
from opwright.kit.live.existing import complete
from opwright.kit.live.kernels import kernels
from opwright.kit.live.live_operator import LiveOperator
from opwright.kit.live.registration import Registrations
from opwright.kit.validate import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.declare.operator import Declaration
    from opwright.kit.derive.facts import SetFacts

__all__ = ["Loaded", "is_loaded", "load"]

# The sets of this process by namespace, and the lock under which sets come and go.
loaded_sets: dict[str, Loaded] = {}
lock = threading.RLock()


class Loaded:
    """A registered set of operators; `unload`, or leaving its `with` block, removes it.

    Parameters
    ----------
    facts
        What was registered.
    registrations
        How it is undone.
    """

    def __init__(self, facts: SetFacts, registrations: Registrations) -> None:
        self.facts = facts
        self.registrations = registrations
        self.successor: Loaded | None = None
        self.is_current = True
        self.overloads: dict[str, Any] = {}

    @property
    def declaration(self) -> Declaration:
        """The declaration."""
        return self.facts.declaration

    @property
    def is_removed(self) -> bool:
        """Whether the operators are gone; a set that was loaded again is not."""
        # Without the lock: declared operators call each other while a set comes or goes.
        successor = self.successor
        return not self.is_current if successor is None else successor.is_removed

    def overload(self, name: str) -> Any:  # noqa: ANN401 - torch.ops has no types
        """Return an operator of the set, as torch.ops has it.

        Parameters
        ----------
        name
            Without the namespace, with its overload after a dot: "rescale", "rescale.scalar".

        Raises
        ------
        UnknownOperatorError, UnloadedError
            OPW-L005, OPW-L004.
        """
        found = self.overloads.get(name)
        if found is not None:
            return found
        namespace = self.declaration.namespace
        if self.is_removed:
            got = f"{self.declaration.place}, unloaded"
            raise UnloadedError(where=f"{namespace}::{name}", got=got)
        if self.successor is not None:
            return self.successor.overload(name)
        names = [facts.name for facts in self.facts.operators]
        if name not in names:
            raise UnknownOperatorError(
                where=f"{self.declaration.place}, operator set {namespace}",
                got=repr(name),
                allowed=names,
                near=name,
            )
        return self.overloads.setdefault(name, dispatcher.overload(namespace, name))

    def unload(self) -> None:
        """Remove all registrations; a second call does nothing, nor does one of a replaced set.

        No other thread may be in a call of its operators: the dispatcher frees their schemas. That
        holds as well where a set is loaded again with other schemas, but not with the same ones.
        """
        finish_tasks()
        with lock:
            if self.is_current:
                self.is_current = False
                self.remove()

    def remove(self) -> None:
        """Remove the registrations at once; `unload` waits for what runs first."""
        loaded_sets.pop(self.declaration.namespace, None)
        current_sets.pop(self.declaration.namespace, None)
        self.overloads.clear()
        self.registrations.remove()
        dispatcher.clear_caches()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload()


def load(declaration: Declaration) -> Loaded:
    """Register all operators of a declaration in this process; once if it is the same one.

    Returns
    -------
    loaded
        The handle.

    Raises
    ------
    InvalidDeclarationError
        OPW-D010: what validation finds. A set that is loaded already stays.
    NamespaceTakenError
        OPW-L001: another file has the namespace.
    RegistrationError, CppRuleError, DuplicateKernelError
        OPW-L002, OPW-L003, OPW-K021. Nothing is registered then.
    """
    check(declaration)
    facts = derive(declaration)
    if replaces_references(declaration):
        finish_tasks()
    with lock:
        known = loaded_sets.get(declaration.namespace)
        if known is not None and known.declaration == declaration:
            return known
        if known is not None and known.declaration.place.file != declaration.place.file:
            raise NamespaceTakenError(
                where=f"{declaration.place}, operator set {declaration.namespace}",
                got=f"the namespace of {known.declaration.place}",
            )
        operators = [LiveOperator.of(each, facts) for each in facts.operators]
        if known is None:
            loaded = Loaded(facts, register_all(facts, operators))
        else:
            loaded = Loaded(facts, replace(known, facts, operators))
        if known is not None:
            known.successor = loaded
            known.is_current = False
            known.overloads.clear()
            dispatcher.clear_caches()
        # At once: Dynamo guards on this table, and would compile again after the first lookup.
        if not declaration.existing:
            loaded.overloads.update(
                (each.name, dispatcher.overload(declaration.namespace, each.name))
                for each in facts.operators
            )
        loaded_sets[declaration.namespace] = loaded
        current_sets[declaration.namespace] = facts
        return loaded


def is_loaded(namespace: str) -> bool:
    """Return whether a set of this namespace is loaded."""
    return namespace in loaded_sets


def replaces_references(declaration: Declaration) -> bool:
    """Return whether loaded operators change; tasks of the NPU may be about to run them."""
    known = loaded_sets.get(declaration.namespace)
    return known is not None and any(
        operator not in declaration.operators for operator in known.declaration.operators
    )


def replace(known: Loaded, facts: SetFacts, operators: Sequence[LiveOperator]) -> Registrations:
    """Register the operators instead of those of a set; if that fails, the old ones stay.

    Operators whose schemas did not change are never away: their kernels are put over the old ones.
    """
    before = known.registrations
    if forms(known.facts) == forms(facts):
        new = register_all(facts, operators, before)
        before.remove()
        return new
    known.remove()
    try:
        return register_all(facts, operators)
    except BaseException:
        old = [LiveOperator.of(each, known.facts) for each in known.facts.operators]
        known.registrations = register_all(known.facts, old)
        loaded_sets[known.declaration.namespace] = known
        current_sets[known.declaration.namespace] = known.facts
        raise


def forms(facts: SetFacts) -> dict[str, object]:
    """Return what of each operator cannot be changed while it is registered."""
    return {
        each.schema.full_name: (str(each.schema), set(each.tags), each.python is None)
        for each in facts.operators
    }


def register_all(
    facts: SetFacts, operators: Sequence[LiveOperator], over: Registrations | None = None
) -> Registrations:
    """Register the operators, over others of the same schemas; if that fails, nothing stays."""
    registrations = Registrations(facts.declaration.namespace, over)
    try:
        if facts.declaration.existing:
            completed = tuple(complete(operators, registrations))
            facts = dataclasses.replace(facts, operators=completed)
        else:
            register(facts, operators, registrations)
        register_converters(facts, registrations)
    except BaseException:
        registrations.remove()
        raise
    return registrations


def register(
    facts: SetFacts, operators: Sequence[LiveOperator], registrations: Registrations
) -> None:
    """Register operators with all of their kernels; those of the NPU once torch_npu is there."""
    for live in operators:
        registrations.define(live.facts.schema, live.facts.tags, where=live.where)
    for live in operators:
        for key, kernel in kernels(live):
            registrations.implement(live.facts.name, kernel, key)
        for handle in autograd_kernels(live):
            registrations.keep(handle)
        if only_observes(live.facts) and not live.is_composite:
            registrations.keep(dispatcher.SideEffect(live.overload()))
        if has_graph_form(live.facts):
            registrations.graph_form(live.facts.schema, where=live.where)
    if arrival.is_imported():
        register_npu_kernels(facts, operators, registrations)
    else:
        then = partial(register_later, facts, operators, registrations)
        registrations.keep(arrival.Arrival(then))


def register_npu_kernels(
    facts: SetFacts, operators: Sequence[LiveOperator], registrations: Registrations
) -> None:
    """Register the NPU kernels, now that torch_npu is there."""
    from opwright.kit.live.npu import register_npu  # noqa: PLC0415 - it needs torch_npu's libraries

    register_npu(facts, operators, registrations)


def register_later(
    facts: SetFacts, operators: Sequence[LiveOperator], registrations: Registrations
) -> None:
    """Register the NPU kernels at the end of the import of torch_npu, which must not fail."""
    try:
        register_npu_kernels(facts, operators, registrations)
    except (OpwrightError, RuntimeError, ValueError) as error:
        namespace = facts.declaration.namespace
        message = f"the NPU kernels of operator set {namespace} are not registered: {error}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def finish_tasks() -> None:
    """Let the NPU finish: the twin looks a reference up when its task runs.

    Never under the lock: a reference that calls an operator may need it. Nor in a task, which
    would wait for itself.
    """
    if user_kernels.is_in_task():
        return
    torch_npu = sys.modules.get(arrival.NAME)
    if torch_npu is not None and arrival.is_imported() and torch_npu.npu.is_initialized():
        torch_npu.npu.synchronize()
