"""A declaration -> operators in this process, and the handle that removes them.

Everything is registered, or nothing. A set that is loaded again, after its file was edited or its
module reloaded, replaces what is there; handles and functions of the old one then stand for the new
one. NPU kernels are registered when torch_npu is imported: at once, or as soon as that happens.
"""

from __future__ import annotations

import sys
import threading
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from opwright.errors import OpwrightError, nearest_first
from opwright.internals.library import tag
from opwright.kit.derive import derive
from opwright.kit.derive.functional import has_graph_form, only_observes
from opwright.kit.live import arrival, dispatcher, twin
from opwright.kit.live.autocast import AUTOCAST_KEYS, autocast_kernel
from opwright.kit.live.autograd import differentiable_arguments, slow_path
from opwright.kit.live.batching import batching_kernel
from opwright.kit.live.composite import composite_kernel, is_opaque, opaque_kernels
from opwright.kit.live.converters import register_converters
from opwright.kit.live.current import current_sets
from opwright.kit.live.errors import NamespaceTakenError, UnknownOperatorError, UnloadedError
from opwright.kit.live.existing import complete
from opwright.kit.live.factory import factory_kernel, needs_factory
from opwright.kit.live.fake import fake_kernel
from opwright.kit.live.functional import functionalize_kernel
from opwright.kit.live.live_operator import LiveOperator
from opwright.kit.live.reference import cpu_kernel
from opwright.kit.live.registration import Registrations
from opwright.kit.validate import check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import torch

    from opwright.kit.declare.operator import Declaration
    from opwright.kit.derive.facts import OperatorFacts, SetFacts

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
            Without the namespace, with its overload after a dot: "scale", "scale.scalar".

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
                allowed=nearest_first(name, names),
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
            loaded = Loaded(facts, registered(facts, operators))
        else:
            loaded = Loaded(facts, replaced(known, facts, operators))
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


def replaced(known: Loaded, facts: SetFacts, operators: Sequence[LiveOperator]) -> Registrations:
    """Register the operators instead of those of a set; if that fails, the old ones stay.

    Operators whose schemas did not change are never away: their kernels are put over the old ones.
    """
    before = known.registrations
    if forms(known.facts) == forms(facts):
        new = registered(facts, operators, before)
        before.remove()
        return new
    known.remove()
    try:
        return registered(facts, operators)
    except BaseException:
        old = [LiveOperator.of(each, known.facts) for each in known.facts.operators]
        known.registrations = registered(known.facts, old)
        loaded_sets[known.declaration.namespace] = known
        current_sets[known.declaration.namespace] = known.facts
        raise


def forms(facts: SetFacts) -> dict[str, object]:
    """Return what of each operator cannot be changed while it is registered."""
    return {
        each.schema.full_name: (str(each.schema), set(tags(each)), each.python is None)
        for each in facts.operators
    }


def registered(
    facts: SetFacts, operators: Sequence[LiveOperator], over: Registrations | None = None
) -> Registrations:
    """Register the operators, over others of the same schemas; if that fails, nothing stays."""
    if facts.declaration.existing:
        return complete(facts, operators, over)
    registrations = Registrations(facts.declaration.namespace, over)
    try:
        for live in operators:
            registrations.define(live.facts.schema, tags(live.facts), where=live.where)
        for live in operators:
            register(live, registrations)
        if arrival.is_imported():
            register_npu_kernels(facts, operators, registrations)
        else:
            then = partial(register_later, facts, operators, registrations)
            registrations.keep(arrival.Arrival(then))
        register_converters(facts, registrations)
    except BaseException:
        registrations.remove()
        raise
    return registrations


def tags(facts: OperatorFacts) -> Iterator[torch.Tag]:
    """Return the tags of an operator that torch has."""
    for name in facts.tags:
        found = tag(name)
        if found is not None:
            yield found


def register(live: LiveOperator, registrations: Registrations) -> None:
    """Register the kernels of an operator, but for those of the NPU."""
    name, facts = live.facts.name, live.facts
    if is_opaque(live):
        data, shapes = opaque_kernels(live)
        registrations.implement(name, data, "CompositeExplicitAutograd")
        registrations.fake(name, shapes)
        registrations.implement(name, batching_kernel(live), "FuncTorchBatched")
        register_autograd(live, registrations)
        return
    if live.is_composite:
        registrations.implement(name, composite_kernel(live), "CompositeImplicitAutograd")
        # vmap goes through its operations as well, unless there is a rule.
        registrations.implement(name, composite_kernel(live), "FuncTorchBatchedDecomposition")
        is_declared = facts.role == "declared"
        is_vjp = facts.python is not None and facts.python.kind == "vjp"
        # Autograd, which a vjp uses, does not see through a batch.
        if is_vjp or (is_declared and callable(facts.operator.vmap)):
            registrations.implement(name, batching_kernel(live), "FuncTorchBatched")
        if is_declared:
            register_autocast(live, registrations)
        register_functionalization(live, registrations)
        return
    kernel = cpu_kernel(live)
    if kernel is not None:
        registrations.implement(name, kernel, "CPU")
    registrations.fake(name, fake_kernel(live))
    registrations.implement(name, batching_kernel(live), "FuncTorchBatched")
    if only_observes(facts):
        registrations.keep(dispatcher.SideEffect(live.overload()))
    register_functionalization(live, registrations)
    register_autocast(live, registrations)
    if needs_factory(live):
        registrations.implement(name, factory_kernel(live), "BackendSelect")
    register_autograd(live, registrations)


def register_functionalization(live: LiveOperator, registrations: Registrations) -> None:
    """Register what makes a mutating operator its functional twin, and its graph form."""
    if live.facts.functional_twin is not None:
        kernel = functionalize_kernel(live, live.facts.functional_twin)
        registrations.implement(live.facts.name, kernel, "Functionalize")
    if has_graph_form(live.facts):
        registrations.graph_form(live.facts.schema, where=live.where)


def register_autocast(live: LiveOperator, registrations: Registrations) -> None:
    """Register what autocast does, if it does something."""
    rule = live.facts.operator.autocast
    if rule is not None:
        for key in AUTOCAST_KEYS:
            registrations.implement(live.facts.name, autocast_kernel(live, rule, key), key)


def register_autograd(live: LiveOperator, registrations: Registrations) -> None:
    """Register what autograd does: record calls, and notice what is written."""
    from opwright.kit.live import _boxed  # noqa: PLC0415 - declarations can be used where it is not built

    space, name = live.namespace, live.facts.name
    places = differentiable_arguments(live)
    if places:
        registrations.keep(_boxed.autograd(space, name, "Autograd", slow_path(live), places))
    written = [i for i, a in enumerate(live.facts.schema.arguments) if a.is_written]
    if written:
        registrations.keep(_boxed.version_bump(space, name, written))


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
    if twin.is_in_task():
        return
    torch_npu = sys.modules.get(arrival.NAME)
    if torch_npu is not None and arrival.is_imported() and torch_npu.npu.is_initialized():
        torch_npu.npu.synchronize()
