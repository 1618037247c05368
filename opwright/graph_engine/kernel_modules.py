"""The modules of a package of kernels: importing one enters its kernels into the table."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["load_kernels"]


def load_kernels(*packages: ModuleType) -> None:
    """Import every module of the packages."""
    for package in packages:
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
