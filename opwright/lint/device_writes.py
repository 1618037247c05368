"""Which parameters an Ascend C kernel writes, through all functions of its folder."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.lint.definitions import DeviceFunction, FileFacts, Site

__all__ = ["KernelWrites", "kernel_writes", "plain_name"]

DEEPEST = 6

# By kernel: its parameters, and for those that it writes where.
KernelWrites = dict[str, list[tuple[tuple[str, ...], dict[str, "Site"]]]]


def plain_name(name: str) -> str:
    """Return a name as CANN compares OpType and kernel: StoreKVBlock is store_kv_block.

    >>> plain_name("StoreKVBlock") == plain_name("store_kv_block")
    True
    """
    return name.replace("_", "").lower()


def kernel_writes(files: Iterable[FileFacts]) -> KernelWrites:
    """Return what the kernels of all files write, by their plain names."""
    folders: dict[str, list[DeviceFunction]] = defaultdict(list)
    for each in files:
        if each.device:
            folders[each.path.rpartition("/")[0]].extend(each.device)
    found: KernelWrites = defaultdict(list)
    for functions in folders.values():
        by_name: dict[str, list[DeviceFunction]] = defaultdict(list)
        stores: dict[tuple[str, str], Site] = {}
        for function in functions:
            by_name[function.name].append(function)
            for store in function.stored:
                stores.setdefault((function.scope, store.about), store)
        for function in functions:
            if function.is_entry:
                writes = {
                    parameter: site
                    for parameter in function.parameters
                    if (site := find_writes(function, parameter, by_name, stores, 0)) is not None
                }
                found[plain_name(function.name)].append((function.parameters, writes))
    return dict(found)


def find_writes(
    function: DeviceFunction,
    parameter: str,
    by_name: Mapping[str, list[DeviceFunction]],
    stores: Mapping[tuple[str, str], Site],
    depth: int,
) -> Site | None:
    """Return where a function writes a parameter of it."""
    for variable, names in function.bound:
        if parameter in names and (function.scope, variable) in stores:
            return stores[function.scope, variable]
    if depth == DEEPEST:
        return None
    for call in function.calls:
        for position, names in enumerate(call.arguments):
            if parameter not in names:
                continue
            candidates = [
                each
                for each in by_name.get(call.function, ())
                if len(each.parameters) >= len(call.arguments)
            ]
            sites = [
                find_writes(each, each.parameters[position], by_name, stores, depth + 1)
                for each in candidates
            ]
            # Of several classes with such a method, only what all do is certain.
            if sites and all(each is not None for each in sites):
                return sites[0]
    return None
