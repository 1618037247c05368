"""A sample -> lines of Python that make its arguments with torch alone.

The values are those that `opwright.kit.live.samples.sample_arguments` makes, and the layouts those
of `opwright.kit.shipped.support.laid_out`; tests compare them.
"""

from __future__ import annotations

import keyword
import math
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING

from opwright.kit.declare.sample import TensorSpec
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.declare.sample import Sample, Value
    from opwright.kit.declare.schema import Argument, Schema

__all__ = ["arguments_lines"]

# Arguments whose values are attributes of torch.
WORDS = frozenset({Base.SCALAR_TYPE, Base.LAYOUT, Base.MEMORY_FORMAT})
# Names that the function needs.
TAKEN = frozenset({"device", "generator", "torch"})
FLOATING = ("float", "bfloat")


def arguments_lines(sample: Sample, schema: Schema) -> list[str]:
    """Return a function `arguments(device)` that makes the arguments of a sample, by name."""
    given = dict(sample.values)
    found = [each for each in schema.arguments if each.name in given]
    tensors = [each for each in found if has_tensor(given[each.name])]
    lines = ["def arguments(device):"]
    if tensors:
        lines.append(f"    generator = torch.Generator().manual_seed({sample.seed})")
    values = []
    for each in found:
        value = given[each.name]
        if each in tensors:
            lines += [
                f"    {line}" for line in write_made_lines(name_local(each.name), value, each)
            ]
            values.append(f"{each.name!r}: {name_local(each.name)}")
        else:
            shown = text(value, each, has_tensors=bool(tensors))
            values.append(f"{each.name!r}: {shown}")
    # Without a tensor, a Device argument says where the operator runs.
    values += [
        f"{each.name!r}: torch.device(device)"
        for each in schema.arguments
        if is_device(each) and each.name not in given and not tensors
    ]
    return [*lines, f"    return {{{', '.join(values)}}}"]


def name_local(name: str) -> str:
    """Return the name of the variable for an argument."""
    return f"{name}_" if keyword.iskeyword(name) or name in TAKEN else name


def write_made_lines(name: str, value: Value, argument: Argument) -> list[str]:
    """Return what makes a value with tensors: two lines for one tensor that is laid out."""
    if isinstance(value, TensorSpec):
        made = f"{write_dense(value)}.to(device)"
        laid = write_laid_out(name, value)
        return [f"{name} = {made}", *([f"{name} = {laid}"] if laid != name else [])]
    return [f"{name} = {text(value, argument, has_tensors=True)}"]


def has_tensor(value: Value) -> bool:
    """Return whether a value has a tensor in it."""
    if isinstance(value, tuple):
        return any(map(has_tensor, value))
    return isinstance(value, TensorSpec)


def is_device(argument: Argument) -> bool:
    """Return whether an argument is a device."""
    return argument.type.base is Base.DEVICE and not argument.type.is_list


def text(value: Value, argument: Argument, *, has_tensors: bool) -> str:
    """Return a value as Python."""
    if isinstance(value, tuple):
        inner = ", ".join(text(each, argument, has_tensors=has_tensors) for each in value)
        return f"[{inner}]"
    if isinstance(value, TensorSpec):
        return tensor_text(value)
    if is_device(argument) and value is not None:
        return f"torch.device({value!r})" if has_tensors else "torch.device(device)"
    if isinstance(value, str) and argument.type.base in WORDS:
        return f"torch.{value}"
    return number_text(value)


def number_text(value: bool | complex | str | None) -> str:  # noqa: FBT001 - any value of a sample
    """Return what is no tensor as Python: NaN and infinities have no literal."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, complex):
        return f"complex({number_text(value.real)}, {number_text(value.imag)})"
    return repr(value)


def tensor_text(spec: TensorSpec) -> str:
    """Return a tensor as Python."""
    return write_laid_out(f"{write_dense(spec)}.to(device)", spec)


def write_dense(spec: TensorSpec) -> str:
    """Return the contiguous tensor on the CPU, with its values."""
    dtype = spec.dtype or "float32"
    if spec.values is not None:
        numbers = ", ".join(map(number_text, spec.values))
        return f"torch.tensor([{numbers}]).reshape({spec.shape}).to(torch.{dtype})"
    if dtype.startswith("complex"):
        part = write_dense(TensorSpec(shape=spec.shape, low=spec.low, high=spec.high))
        return f"torch.complex({part}, {part})" + write_conversion(dtype, "complex64")
    if dtype.startswith(FLOATING):
        low = -1.0 if spec.low is None else spec.low
        high = 1.0 if spec.high is None else spec.high
        bounds = f"{number_text(low)}, {number_text(high)}"
        made = f"torch.empty({spec.shape}).uniform_({bounds}, generator=generator)"
        return made + write_conversion(dtype, "float32")
    least = 0 if spec.low is None else int(spec.low)
    most = (1 if dtype == "bool" else 9) if spec.high is None else int(spec.high)
    made = f"torch.randint({least}, {most + 1}, {spec.shape}, generator=generator)"
    return made + write_conversion(dtype, "int64")


def write_conversion(dtype: str, made: str) -> str:
    """Return the conversion from the dtype in which values are made."""
    return "" if dtype == made else f".to(torch.{dtype})"


def write_laid_out(made: str, spec: TensorSpec) -> str:
    """Return a tensor with the layout of its description."""
    shape, rank = spec.shape, len(spec.shape)
    elements = reduce(mul, shape, 1)
    match spec.layout:
        case "transposed" if rank > 1:
            return write_permuted(made, [*range(rank - 2), rank - 1, rank - 2])
        case "reversed" if rank > 1:
            return write_permuted(made, list(reversed(range(rank))))
        case "channels_last" if rank > 3:  # noqa: PLR2004 - N, C and at least two more
            return write_permuted(made, [0, *range(2, rank), 1])
        case "offset":
            whole = write_filled(spec, (elements + 1,))
            return f"{whole}[1:].view({shape}).copy_({made})"
        case "sliced" if rank > 1:
            return f"{write_filled(spec, (*shape[:-1], shape[-1] + 3))}[..., 1:-2].copy_({made})"
        case "strided" if rank:
            return f"{write_filled(spec, (*shape[:-1], 2 * shape[-1]))}[..., ::2].copy_({made})"
        case "expanded" if any(size > 1 for size in shape) and elements:
            axis = next(axis for axis, size in enumerate(shape) if size > 1)
            return f"{made}.narrow({axis}, 0, 1).clone().expand({shape})"
    return made


def write_permuted(made: str, axes: Sequence[int]) -> str:
    """Return a tensor whose axes lie in memory in this order."""
    back = sorted(range(len(axes)), key=axes.__getitem__)
    there, here = (", ".join(map(str, each)) for each in (axes, back))
    return f"{made}.permute({there}).contiguous().permute({here})"


def write_filled(spec: TensorSpec, shape: tuple[int, ...]) -> str:
    """Return a tensor of what should never be read."""
    dtype = spec.dtype or "float32"
    value = "torch.nan" if dtype.startswith((*FLOATING, "complex")) else "1"
    return f"torch.full({shape}, {value}, dtype=torch.{dtype}, device=device)"
