"""torch, imported when it is first used.

A declaration imports torch for its references, which nobody calls while it is read; so reading it
takes milliseconds rather than seconds. What does use torch while the file runs (`torch.float16`, a
submodule) imports it then.
"""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from opwright.twin.autoload import suppress_autoload

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lazy_torch"]


class DelayedModule(ModuleType):
    """A module that runs its file when it is asked for something that it does not have yet.

    importlib.util.LazyLoader is not enough: an `import` of what it prepared runs it.
    """

    def __getattr__(self, name: str) -> object:
        """Become the module."""
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        object.__setattr__(self, "__class__", ModuleType)
        self.__path__ = spec.submodule_search_locations or []
        spec.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def lazy_torch() -> Iterator[None]:
    """Delay the import of torch in this block, and keep it from loading its back ends.

    torch stays delayed behind the block, for the functions of the file. For processes that read a
    declaration and do not run it.
    """
    with suppress_autoload():
        spec = None if "torch" in sys.modules else importlib.util.find_spec("torch")
        if spec is not None:
            module = importlib.util.module_from_spec(spec)
            object.__setattr__(module, "__class__", DelayedModule)
            del module.__path__  # so that importing a submodule asks for it
            sys.modules["torch"] = module
        yield
