"""The classic build: all units, with torch's C++ API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.emit.cpp.aclnn_call import aclnn_header
from opwright.kit.emit.cpp.autograd import autograd_unit
from opwright.kit.emit.cpp.functionalization import functionalization_unit
from opwright.kit.emit.cpp.helpers import tensors_header
from opwright.kit.emit.cpp.names import unique_names
from opwright.kit.emit.cpp.operators import OperatorCode
from opwright.kit.emit.cpp.units import handles_header, operators_unit, with_kernels
from opwright.kit.emit.header import with_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opwright.kit.derive.facts import SetFacts

__all__ = ["emit_classic"]


# A handle of handles.h in use.
HANDLE = re.compile(r"\b(\w+)\(\)\.(?:call|redispatch)\(")
# Operators per unit: a unit takes about as long for twelve operators as for its headers.
GROUP = 12


def groups(codes: Sequence[OperatorCode]) -> Iterator[tuple[str, Sequence[OperatorCode]]]:
    """Yield the operators of each unit with the suffix of its name; a small set has one of each."""
    if len(codes) <= GROUP + GROUP // 2:
        yield "", codes
        return
    for number, start in enumerate(range(0, len(codes), GROUP), start=1):
        yield f"_{number}", codes[start : start + GROUP]


def emit_classic(facts: SetFacts) -> Mapping[str, str]:
    """Return the C++ files by path."""
    namespace = facts.declaration.namespace
    names = unique_names(facts)
    codes = [OperatorCode(each, names[each.name], namespace) for each in facts.operators]
    by_name = {code.facts.name: code for code in codes}
    files: dict[str, str] = {}
    for suffix, some in groups(codes):
        units = {
            "operators": operators_unit(some, namespace),
            "autograd": autograd_unit(some, by_name, namespace),
            "functionalization": functionalization_unit(some, by_name, namespace),
        }
        files |= {f"{name}{suffix}.cpp": text for name, text in units.items() if text is not None}
    whole = "\n".join(files.values())
    handles = set(HANDLE.findall(whole))
    called = [code for code in codes if code.name in handles]
    if called:
        files["handles.h"] = handles_header(called, namespace)
    kernels = with_kernels(codes)
    if kernels:
        types = {
            parameter.ctype
            for code in kernels
            if code.facts.call is not None
            for parameter in code.facts.call.parameters
        }
        draws = any(code.facts.drawn for code in kernels)
        files["aclnn_call.h"] = aclnn_header(namespace, types, draws=draws)
        files["tensors.h"] = tensors_header(namespace, [whole])
    source = facts.declaration.source.name
    return {
        f"csrc/{name}": with_header(text, source=source, comment="//")
        for name, text in sorted(files.items())
    }
