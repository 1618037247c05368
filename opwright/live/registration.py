"""What is registered for a set, and how all of it is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

from opwright.live import dispatcher
from opwright.live.errors import RegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opwright.declare.schema import Schema

__all__ = ["Registrations", "Removable"]


class Removable(Protocol):
    """A handle of a registration; a second call of remove does nothing."""

    def remove(self) -> None:
        """Undo the registration."""


class Registrations:
    """The registrations of one set in torch's dispatcher; `remove` undoes them all."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.is_first = not dispatcher.namespace_exists(namespace)
        library: Any = torch.library.Library  # it has no types
        self.library = library(namespace, "FRAGMENT")
        self.taken = set(dispatcher.names_in(namespace))
        self.names: list[str] = []
        self.handles: list[Removable] = []

    def define(self, schema: Schema, tags: Iterable[torch.Tag], *, where: str) -> None:
        """Register a schema.

        Raises
        ------
        RegistrationError
            OPW-L002.
        """
        if f"{self.namespace}::{schema.full_name}" in self.taken:
            got = "an operator of this name that something else registered"
            raise RegistrationError(where=where, got=got)
        try:
            self.library.define(str(schema), tags=tuple(tags))
        except (RuntimeError, ValueError) as error:
            message = str(error).partition("\n")[0]
            fix = "correct the schema or the tags"
            raise RegistrationError(where=where, got=message, fix=fix) from error
        self.names.append(schema.full_name)

    def implement(self, name: str, function: Callable[..., object], key: str) -> None:
        """Register a kernel in Python."""
        self.library.impl(name, function, key)

    def fake(self, name: str, function: Callable[..., object]) -> None:
        """Register what runs for meta and fake tensors."""
        self.library._register_fake(name, function)  # noqa: SLF001 - torch.library.register_fake needs a global registry

    def keep(self, handle: Removable) -> None:
        """Remove a registration together with the others."""
        self.handles.append(handle)

    def remove(self) -> None:
        """Undo all registrations, the last one first."""
        while self.handles:
            self.handles.pop().remove()
        self.library._destroy()  # noqa: SLF001 - a Library has no public end
        # What runs when the object itself goes must not touch operators of the same names by then.
        self.library._op_defs.clear()  # noqa: SLF001
        self.library._op_impls.clear()  # noqa: SLF001
        is_last = not any(dispatcher.names_in(self.namespace))
        dispatcher.forget(self.namespace, self.names, remove_namespace=self.is_first and is_last)
        self.names.clear()
