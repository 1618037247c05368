"""Where something is so: with which versions of torch and Python, and without which feature.

`lacks` is a module (`a.b`) or a file of a package (`a/b.h`), with `:name` a name in it, that is not
there; `torch` and `python` are ranges of versions, for what can only be seen when it runs. What
says nothing is so everywhere.
"""

from __future__ import annotations

import importlib.util
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from packaging.specifiers import SpecifierSet

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Where", "has"]


@dataclass(frozen=True, kw_only=True)
class Where:
    """Environments: all that are in the ranges and lack the feature."""

    KEYS: ClassVar = ("lacks", "torch", "python")

    lacks: str | None = None
    torch: str | None = None
    python: str | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any], others: Collection[str]) -> Where:
        """Read the keys of an entry that say where it holds.

        Raises
        ------
        ValueError
            For a key that is neither one of these nor of the others: an entry without it would
            hold everywhere.
        """
        if unknown := set(entry).difference(cls.KEYS, others):
            message = f"unknown keys {sorted(unknown)}; allowed: {[*cls.KEYS, *others]}"
            raise ValueError(message)
        return cls(**{key: entry[key] for key in cls.KEYS if key in entry})

    def is_here(self) -> bool:
        """Return whether this environment is one of them."""
        ranges = ((self.torch, version("torch")), (self.python, platform.python_version()))
        fits = [
            SpecifierSet(text).contains(found.partition("+")[0], prereleases=True)
            for text, found in ranges
            if text is not None
        ]
        return all(fits) and (self.lacks is None or not has(self.lacks))


def has(name: str) -> bool:
    """Return whether there is a module, a file or a name in one, without an import of torch."""
    place, _, wanted = name.partition(":")
    package, *parts = place.split("/" if "/" in place else ".")
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return False
    path = Path(spec.origin).parent.joinpath(*parts)
    sources = (path, path / "__init__.py", path.with_suffix(".py"))
    source = next((each for each in sources if each.is_file()), None)
    return source is not None and wanted.encode() in source.read_bytes()  # of a library as well
