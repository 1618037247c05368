"""The registrations of a set, and how all of them are undone."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Protocol

import torch

from opwright.internals.library import destroy, impl, op_defs, register_fake_over, tag
from opwright.kit.live import dispatcher
from opwright.kit.live.errors import RegistrationError
from opwright.kit.shipped.graphs import register_graph_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opwright.kit.declare.schema import Schema

__all__ = ["Registrations", "Removable"]


class Removable(Protocol):
    """A handle of a registration; a second call of remove does nothing."""

    def remove(self) -> None:
        """Undo the registration."""


class Registrations:
    """The registrations of one set in torch's dispatcher; `remove` undoes them all."""

    def __init__(self, namespace: str, over: Registrations | None = None) -> None:
        self.namespace = namespace
        self.is_over = over is not None
        self.definitions: Definitions = over.definitions if over else Definitions(namespace)
        self.definitions.users += 1
        self.library = new_library(namespace)
        self.handles: list[Removable] = []
        self.is_removed = False

    def define(self, schema: Schema, tags: Iterable[str], *, where: str) -> None:
        """Register a schema, with those of the tags that torch has.

        Raises
        ------
        RegistrationError
            OPW-L002.
        """
        definitions = self.definitions
        if definitions.schemas.get(schema.full_name) == str(schema):
            return
        if f"{self.namespace}::{schema.full_name}" in definitions.taken:
            got = "an operator of this name that something else registered"
            raise RegistrationError(where=where, got=got)
        try:
            known = tuple(found for name in tags if (found := tag(name)) is not None)
            definitions.library.define(str(schema), tags=known)
        except (RuntimeError, ValueError) as error:
            message = str(error).partition("\n")[0]
            fix = "correct the schema or the tags"
            raise RegistrationError(where=where, got=message, fix=fix) from error
        definitions.schemas[schema.full_name] = str(schema)

    def graph_form(self, of: Schema, *, where: str) -> None:
        """Register the graph form of an operator; it depends on the schema only, and so stays.

        Raises
        ------
        RegistrationError
            OPW-L002.
        """
        definitions = self.definitions
        name = f"_mutate_{of.full_name}"
        if name in definitions.schemas:
            return
        operator = dispatcher.overload(self.namespace, of.full_name)
        aliased = [of.aliased_argument(result) for result in of.results]
        results = [None if argument is None else argument.name for argument in aliased]
        try:
            register_graph_form(definitions.library, operator, results)
        except (RuntimeError, ValueError) as error:
            message = str(error).partition("\n")[0]
            raise RegistrationError(where=where, got=message) from error
        definitions.schemas[name] = str(dispatcher.overload(self.namespace, name)._schema)  # noqa: SLF001 - torch has no other name
        dispatcher.keep_kernel(self.namespace, name, "CompositeExplicitAutograd")

    def implement(self, name: str, function: Callable[..., object], key: str) -> None:
        """Register a kernel in Python; that of Meta runs for fake tensors as well."""
        with warnings.catch_warnings():
            if self.is_over:
                warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel")
            if key == "Meta":
                register_fake_over(self.library, name, function)
            else:
                impl(self.library, name, function, key, allow_override=self.is_over)
        dispatcher.keep_kernel(self.namespace, name, key)

    def keep(self, handle: Removable) -> None:
        """Remove a registration together with the others."""
        self.handles.append(handle)

    def remove(self) -> None:
        """Undo all registrations, the last one first."""
        while self.handles:
            self.handles.pop().remove()
        if self.is_removed:
            return
        self.is_removed = True
        end_library(self.library)
        self.definitions.users -= 1
        if not self.definitions.users:
            self.definitions.remove()


class Definitions:
    """The schemas of a set, which stay when their kernels are replaced.

    The dispatcher reads a schema without a lock during a call, so a call that runs must not lose
    it.
    """

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.is_first = not dispatcher.namespace_exists(namespace)
        self.library = new_library(namespace)
        self.taken = set(dispatcher.names_in(namespace))
        self.schemas: dict[str, str] = {}
        self.users = 0

    def remove(self) -> None:
        """Remove the operators."""
        end_library(self.library)
        is_last = not any(dispatcher.names_in(self.namespace))
        dispatcher.forget(self.namespace, self.schemas, remove_namespace=self.is_first and is_last)
        self.schemas.clear()


def new_library(namespace: str) -> Any:  # noqa: ANN401 - torch.library has no types
    """Return what registers operators of a namespace."""
    library: Any = torch.library.Library
    return library(namespace, "FRAGMENT")


def end_library(library: Any) -> None:  # noqa: ANN401 - torch.library has no types
    """Undo what was registered with a library."""
    operators = op_defs(library)
    destroy(library)
    dispatcher.forget_builtins(operators)
