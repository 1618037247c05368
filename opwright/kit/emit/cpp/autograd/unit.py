"""The text of autograd.cpp: shared functions, nodes, kernels, registrations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.declare.aten import read_aten_functions
from opwright.kit.emit.cpp.autograd.derivative import Derivative
from opwright.kit.emit.cpp.autograd.kernels import kernel, refusal, write_unimplemented
from opwright.kit.emit.cpp.autograd.node import node
from opwright.kit.emit.cpp.operators import registrations, tensor_arguments
from opwright.kit.emit.cpp.text import sections
from opwright.kit.emit.cpp.units import is_out_variant, list_mutating, write_namespaced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.kit.emit.cpp.operators import OperatorCode

__all__ = ["autograd_unit"]


# The sections with functions -> what a unit's text has where it uses one.
FUNCTIONS = {
    "new node": ("new_node<",),
    "any defined": ("any_defined(",),
    "if defined": ("if_defined(",),
    "gradient list": ("gradient_list(",),
    "save list": ("unpack(",),
    "save optional list": ("unpack_optional(",),
    "refuse": ("refuse_gradient(",),
    "nested": ("const Nested ",),
    "unimplemented": ("NotImplemented",),
    "is differentiable": ("_differentiable(", "record_new(", "record_written("),
    "if differentiable": ("if_differentiable(",),
    "new unimplemented": ("record_new(",),
    "written unimplemented": ("record_written(",),
}


def function_lines(name: str) -> list[str]:
    """Return a function that does not depend on the declaration, and a blank line."""
    return [*sections("autograd.cpp")[name].splitlines(), ""]


def list_shared_functions(
    derivatives: Sequence[Derivative], others: Sequence[OperatorCode]
) -> list[str]:
    """Return the functions at the top of the unit, as far as they are used."""
    types = [each.argument(name).type for each in derivatives for name in each.watched] + [
        code.facts.argument(name).type for code in others for name in tensor_arguments(code.facts)
    ]
    names = ["needs gradient"]
    optional_list = any(each.is_list and each.optional_elements for each in types)
    if optional_list or any(each.is_tensor and each.optional for each in types):
        names.append("optional")
    if any(each.is_list and not each.optional_elements for each in types):
        names.append("list")
    if optional_list:
        names.append("optional list")
    names.append("needs gradient end")
    return [line for name in names for line in function_lines(name)]


def derivative(code: OperatorCode, backward: OperatorCode, *, formulas: bool) -> Derivative:
    """Return the derivative of an operator."""
    python = backward.facts.python
    is_formula = python is not None and python.kind == "formula"
    return Derivative(code, backward, has_formulas=formulas and is_formula)


def autograd_unit(
    codes: Sequence[OperatorCode],
    by_name: Mapping[str, OperatorCode],
    namespace: str,
    *,
    formulas: bool = False,
) -> str | None:
    """Return autograd.cpp; None if no operator needs it.

    Parameters
    ----------
    by_name
        All operators of the set, among them those that are backwards.
    formulas
        Whether gradients that are expressions are computed here; else Python has an operator that
        computes them.
    """
    derivatives = [
        derivative(code, by_name[code.facts.autograd.operator], formulas=formulas)
        for code in codes
        if code.facts.autograd is not None
    ]
    others = [code for code in list_mutating(codes) if code.facts.autograd is None]
    refusing = [code for code in others if is_out_variant(code)]
    raising = [code for code in others if not is_out_variant(code)]
    if not derivatives and not others:
        return None
    functions = [line for each in derivatives for line in [*node(each, by_name), *kernel(each)]]
    functions += [line for code in refusing for line in refusal(code)]
    functions += [line for code in raising for line in write_unimplemented(code)]
    shared = ["using torch::autograd::variable_list;", ""] if derivatives else []
    shared += list_shared_functions(derivatives, others)
    text = "\n".join(functions).replace(".unpack(", "")
    for name, used in FUNCTIONS.items():
        shared += function_lines(name) if any(each in text for each in used) else []
    entries = [each.code for each in derivatives] + others
    return write_namespaced(
        namespace,
        head(text, formulas=any(each.has_formulas for each in derivatives)),
        [*shared, *functions],
        registrations(
            namespace, "Autograd", {code.facts.name: f"&{code.name}_autograd" for code in entries}
        ),
    )


def head(functions: str, *, formulas: bool) -> list[str]:
    """Return the first lines of the unit: what its functions need."""
    lines = ["// autograd.cpp: derivatives."]
    if formulas:
        lines.append("#include <ATen/TensorOperators.h>")
        called = set(re.findall(r"\bat::(\w+)\(", functions))
        lines += [
            f"#include <ATen/ops/{name}.h>" for name in sorted(called & read_aten_functions())
        ]
    if "check_inplace(" in functions:
        lines.append("#include <torch/csrc/autograd/VariableTypeUtils.h>")
    if "NotImplemented" in functions:
        lines.append("#include <torch/csrc/autograd/functions/basic_ops.h>")
    if "Node" in functions or "NotImplemented" in functions:
        lines.append("#include <torch/csrc/autograd/functions/utils.h>")
    return [
        *lines,
        "#include <torch/library.h>",
        "",
        "#include <algorithm>",
        "",
        '#include "handles.h"',
    ]
