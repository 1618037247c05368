"""The classic build: all units, with torch's C++ API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.emit.cpp.aclnn_call import aclnn_header
from opwright.emit.cpp.autograd import autograd_unit
from opwright.emit.cpp.functionalization import functionalization_unit
from opwright.emit.cpp.helpers import tensors_header
from opwright.emit.cpp.names import unique_names
from opwright.emit.cpp.operators import OperatorCode
from opwright.emit.cpp.units import handles_header, operators_unit, with_kernels
from opwright.emit.header import with_header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.derive.facts import SetFacts

__all__ = ["emit_classic"]


def emit_classic(facts: SetFacts) -> Mapping[str, str]:
    """Return the C++ files by path."""
    namespace = facts.declaration.namespace
    names = unique_names(facts)
    codes = [OperatorCode(each, names[each.name], namespace) for each in facts.operators]
    units = {
        "operators.cpp": operators_unit(codes, namespace),
        "autograd.cpp": autograd_unit(codes, namespace),
        "functionalization.cpp": functionalization_unit(codes, namespace),
    }
    files = {name: text for name, text in units.items() if text is not None}
    whole = "\n".join(files.values())
    called = [code for code in codes if re.search(rf"\b{code.name}\(\)\.", whole)]
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
        files["aclnn_call.h"] = aclnn_header(namespace, types)
        files["tensors.h"] = tensors_header(namespace, [whole])
    source = facts.declaration.source.name
    return {
        f"csrc/{name}": with_header(text, source=source, comment="//")
        for name, text in sorted(files.items())
    }
