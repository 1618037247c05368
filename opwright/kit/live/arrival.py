"""Something is done as soon as a module is imported: at once if it is, else after its import."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["NAME", "Arrival", "is_awaited", "is_imported"]

NAME = "torch_npu"


def is_imported(name: str = NAME) -> bool:
    """Return whether a module, torch_npu by default, is imported to its end."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return module is not None and not getattr(spec, "_initializing", False)


def is_awaited(name: str) -> bool:
    """Return whether something is to be done after the import of a module."""
    return any(isinstance(each, Arrival) and each.awaited == name for each in sys.meta_path)


class Arrival(MetaPathFinder):
    """Waits for the import of a module. `remove` ends the waiting; a second call does nothing."""

    def __init__(self, then: Callable[[], None], awaited: str = NAME) -> None:
        self.then = then
        self.awaited = awaited
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Stop waiting."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as others do, and notice the end of its import."""
        del path, target
        if name != self.awaited or self not in sys.meta_path:
            return None
        place = sys.meta_path.index(self)
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(place, self)
        if spec is not None and spec.loader is not None:
            spec.loader = Noticed(spec.loader, self)
        return spec


class Noticed(Loader):
    """Loads a module with its own loader, and reports it."""

    def __init__(self, loader: Loader, arrival: Arrival) -> None:
        self.loader = loader
        self.arrival = arrival

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then what waited for it."""
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if self.arrival in sys.meta_path:  # nobody stopped waiting
            self.arrival.remove()
            self.arrival.then()
