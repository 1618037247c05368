"""Samples that a converter says it supports, as TorchAir's `declare_supported` has them.

TorchAir keeps them with the converter, for whoever tests converters or asks what they accept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.rules import DtypeSet
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.declare.schema import Base
from opwright.kit.emit.python.suite import root_rule
from opwright.kit.emit.python.text import Group, lay_out, literal

if TYPE_CHECKING:
    from opwright.kit.declare.sample import Sample, Value
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import OperatorFacts

__all__ = ["CLASSES", "write_samples"]

# Classes of TorchAir's supported_declaration.py, by dtype.
CLASSES = {
    "bfloat16": "BF16",
    "bool": "BOOL",
    "complex64": "C64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
}
WITHOUT_RANGE = {"bfloat16", "bool"}


def write_samples(operator: OperatorFacts) -> list[str]:
    """Return the decorator with an operator's samples; nothing for operators that write."""
    if operator.role != "declared" or operator.schema.mutated:
        return []
    cases = [support(operator, sample) for sample in operator.operator.samples]
    known = tuple(case for case in cases if case is not None)
    if not known:
        return []
    return lay_out(Group("@declare_supported(", (Group("[", known, "]"),), ")"))


def support(operator: OperatorFacts, sample: Sample) -> Group | None:
    """Return a sample; None if TorchAir has no class for one of its tensors."""
    values = dict(sample.values)
    items = []
    for argument in operator.schema.arguments:
        if argument.name not in values:
            continue
        text = value_text(operator, argument, values[argument.name])
        if text is None:
            return None
        items.append(f"{argument.name}={text}")
    return Group("Support(", tuple(items), ")")


def value_text(operator: OperatorFacts, argument: Argument, value: Value) -> str | None:
    """Return a value of a sample."""
    if isinstance(value, TensorSpec):
        return tensor_text(operator, argument, value)
    if isinstance(value, tuple) and argument.type.has_tensors:
        texts = [value_text(operator, argument, each) for each in value]
        known = [text for text in texts if text is not None]
        return f"[{', '.join(known)}]" if len(known) == len(texts) else None
    if isinstance(value, str) and argument.type.base in {Base.SCALAR_TYPE, Base.LAYOUT}:
        return f"torch.{value}"
    return literal(list(value) if isinstance(value, tuple) else value)


def tensor_text(operator: OperatorFacts, argument: Argument, spec: TensorSpec) -> str | None:
    """Return a tensor of a sample, with the first dtype that it may have."""
    rule = root_rule(operator, argument.name)
    dtype = spec.dtype or (rule.names[0] if isinstance(rule, DtypeSet) else "float32")
    if dtype not in CLASSES:
        return None
    items = [str(size) for size in spec.shape]
    low, high = spec.bounds
    if low is not None and high is not None and dtype not in WITHOUT_RANGE:
        items.append(f"value_range=({low!r}, {high!r})")
    return f"{CLASSES[dtype]}({', '.join(items)})"
