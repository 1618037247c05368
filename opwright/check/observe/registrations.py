"""An operator's entries in the dispatcher: kernels by key, and where each comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opwright.internals.dispatcher import dispatch_dump, dispatch_find_dangling_impls
from opwright.kit.live import dispatcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Registered",
    "find_registered",
    "find_stale",
    "neighbour",
    "schema_text",
    "torch_schema",
]

# A line of the dispatcher's dump: "CPU: registered at ops.cpp:12 :: (Tensor _0) -> () [ boxed ]".
KERNEL = re.compile(r"(?P<key>\w+)(?:\[alias\])?: (?:fallthrough )?(?P<place>.*?)(?: :: .*)?")
UNNAMED = re.compile(r"\(\$(\d+)(!?) -> \)")
PLACE = re.compile(r"registered at (?P<place>.+)")


@dataclass(frozen=True, slots=True)
class Registered:
    """An operator's entries in the dispatcher.

    Parameters
    ----------
    place
        Where it is defined; empty where the dispatcher does not know.
    kernels
        The place of each kernel by dispatch key, alias keys (`Autograd`,
        `CompositeImplicitAutograd`, ...) among them. What all operators fall back to is not here.
    """

    place: str
    kernels: Mapping[str, str]

    @property
    def is_composite(self) -> bool:
        """Whether it is made of other operators, which decide where it runs."""
        return "CompositeImplicitAutograd" in self.kernels

    @property
    def runs_anywhere(self) -> bool:
        """Whether one kernel serves all devices, Meta among them."""
        return self.is_composite or "CompositeExplicitAutograd" in self.kernels

    def has(self, *keys: str) -> bool:
        """Return whether there is a kernel of one of the keys."""
        return any(key in self.kernels for key in keys)


def find_registered(name: str) -> Registered:
    """Return what is registered for an operator that exists."""
    return read(dispatch_dump(name))


def read(dump: str) -> Registered:
    """Read the dispatcher's dump of an operator."""
    place = ""
    kernels: dict[str, str] = {}
    for line in dump.splitlines():
        name, _, text = line.partition(": ")
        if name == "debug":
            place = plain(text)
        elif name not in {"name", "schema", "alias analysis kind"}:
            match = KERNEL.fullmatch(line)
            if match:
                kernels[match["key"]] = plain(match["place"])
    return Registered(place, kernels)


def plain(text: str) -> str:
    """Return a place without what the dispatcher writes before it."""
    match = PLACE.fullmatch(text.strip())
    return match["place"] if match else text.strip()


def find_stale(namespace: str) -> dict[str, Registered]:
    """Return what is registered for operators of a namespace that nobody defined, by name."""
    dumps = dispatch_find_dangling_impls()
    found = {dump.partition("\n")[0].removeprefix("name: "): dump for dump in dumps}
    prefix = f"{namespace}::"
    return {name: read(dump) for name, dump in found.items() if name.startswith(prefix)}


def neighbour(name: str, names: Iterable[str]) -> str:
    """Return the operator that reports one that is not there: the one spelled most alike."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - for a fault only

    return max(sorted(names), key=lambda each: SequenceMatcher(None, name, each).ratio())


def torch_schema(namespace: str, name: str) -> Any:  # noqa: ANN401 - torch's own class
    """Return torch's schema of an operator."""
    return dispatcher.overload(namespace, name)._schema  # noqa: SLF001 - it has no public name


def schema_text(schema: object) -> str:
    """Return the text of torch's schema in a form that torch reads back.

    It writes `Tensor!`, an alias set without a name, as `Tensor($0! -> )`.
    """
    return UNNAMED.sub(r"(v\1\2)", str(schema))
