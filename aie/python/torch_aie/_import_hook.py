"""Functions that run before or after a module that others may import later."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["ImportHook"]


def _nothing() -> None:
    pass


class ImportHook(MetaPathFinder):
    """Finds a module as the other finders do, and calls functions around its run.

    Looking for the module (importlib.util.find_spec) calls neither.
    """

    def __init__(
        self,
        name: str,
        before: Callable[[], None] = _nothing,
        after: Callable[[], None] = _nothing,
    ) -> None:
        self.name = name
        self.before = before
        self.after = after
        self._is_looking = False

    def put_first(self) -> None:
        """Put the hook before those that others have put first since."""
        self.remove()
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Take the hook away; calling it again does nothing."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give the module a loader that calls the functions."""
        # A finder behind this one (torch_npu's) may ask all of them again.
        if fullname != self.name or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = self._found_by_others(fullname, path, target)
        finally:
            self._is_looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Around(spec.loader, self)
        return spec

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


class _Around(Loader):
    def __init__(self, ordinary: Loader, hook: ImportHook) -> None:
        self._ordinary = ordinary
        self._hook = hook

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        self._hook.before()
        return self._ordinary.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._ordinary
        module.__loader__ = self._ordinary
        self._ordinary.exec_module(module)
        self._hook.after()
