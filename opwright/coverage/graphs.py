"""Operators in eager mode against the same operators in max-autotune's graphs.

In eager mode an operator calls aclnn functions (eager_calls.tsv), in a graph its converter makes GE
types. It runs in one of them where the twin has all that it may need there, and the difference is
what a program loses when it is compiled, or when it is not.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from opwright.coverage.converters import Converter

__all__ = ["Difference", "compare", "eager_calls", "measure_graphs"]

# Overloads and forms of an operator call the same functions.
SUFFIXES = ("_functional", "_")
# Types that the engine itself computes; they have no kernels.
BUILT_IN = {"Const", "Constant", "ConstPlaceHolder", "Data", "NetOutput", "RefData", "Variable"}
# Operators that call a legacy operator (aclop) in eager mode, not an aclnn function -> its type.
LEGACY = {"npu_mla_prolog": "MlaProlog"}
# TorchAir's own operators, which have no eager form.
GRAPH_ONLY = ("npu_inference.",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An operator that runs in one of the two ways.

    Parameters
    ----------
    operator
        Namespace, name and overload.
    runs
        Where it runs.
    missing
        What the twin lacks for the other way: GE types, or aclnn functions.
    """

    operator: str
    runs: Literal["eager", "graph"]
    missing: tuple[str, ...]


def measure_graphs() -> tuple[Difference, ...]:
    """Compare the installed TorchAir's converters with the twin's libraries and kernels.

    Raises
    ------
    PackageMissingError
        OPW-T030.
    """
    from opwright.coverage.converters import converters  # noqa: PLC0415 -- reads TorchAir
    from opwright.coverage.status import measure  # noqa: PLC0415 -- reads the libraries
    from opwright.graph_engine import kernels, lookup  # noqa: PLC0415 -- they bring torch in
    from opwright.graph_engine.prototypes import cann  # noqa: PLC0415 -- they bring torch in
    from opwright.graph_engine.table import load_kernels  # noqa: PLC0415 -- as above

    load_kernels(kernels)
    found = converters(cann.types())
    types = {each for converter in found for each in converter.types}
    return tuple(
        compare(
            found,
            eager_calls(),
            computed={each for each in types if lookup.find_kernel(each) is not None},
            implemented={each.name for each in measure() if each.status == "implemented"},
        )
    )


def compare(
    found: Iterable[Converter],
    calls: Mapping[str, tuple[str, ...]],
    *,
    computed: Collection[str],
    implemented: Collection[str],
) -> Iterator[Difference]:
    """Yield the operators that run in one of the two ways only.

    An operator of which no aclnn function is known runs in eager mode: it is made of others, or
    calls the runtime. A legacy operator is the GE type itself.

    Parameters
    ----------
    calls
        Name of an operator, without namespace and overload -> the functions that it may call.
    computed
        GE types that have a kernel.
    implemented
        aclnn functions that the twin implements.
    """
    for each in found:
        if not each.types:
            continue
        types = tuple(t for t in each.types if t not in computed and t not in BUILT_IN)
        functions = functions_of(each.operator, calls)
        absent = tuple(f for f in functions if f not in implemented)
        legacy = LEGACY.get(each.operator.split(".")[1])
        if legacy is not None:
            functions, absent = (legacy,), () if legacy in computed else (legacy,)
        runs_eagerly = not functions or len(absent) < len(functions)
        if each.operator.startswith(GRAPH_ONLY):
            continue
        if types and runs_eagerly:
            yield Difference(operator=each.operator, runs="eager", missing=types)
        elif not types and not runs_eagerly:
            yield Difference(operator=each.operator, runs="graph", missing=absent)


def functions_of(operator: str, calls: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the aclnn functions of an operator, by the name that is nearest to its own."""
    name = operator.split(".")[1]
    for suffix in ("", *SUFFIXES):
        if name.endswith(suffix) and name.removesuffix(suffix) in calls:
            return calls[name.removesuffix(suffix)]
    return ()


@functools.cache
def eager_calls() -> Mapping[str, tuple[str, ...]]:
    """Return which aclnn functions an operator's overloads may call in eager mode."""
    table = files("opwright.coverage").joinpath("eager_calls.tsv").read_text(encoding="utf-8")
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    rows = (line for line in table.splitlines() if not line.startswith("#"))
    for line in islice(rows, 1, None):  # behind the names of the columns
        name, functions = line.split("\t")
        found[name] += tuple(f"aclnn{function}" for function in functions.split())
    return found
