"""The faults that the row finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.finding import Kind

if TYPE_CHECKING:
    from opwright.check.observe.metadata import Property

__all__ = ["ALLOCATES", "BOUNDS", "KINDS", "MISSING", "OF_PROPERTY", "RAISES", "READS", "WRITES"]

MISSING = Kind(
    "missing",
    "the operator has no Meta function",
    "register one: torch.library.register_fake, or TORCH_LIBRARY_IMPL(..., Meta, m) in C++; a "
    "declared operator has one from its shapes and dtypes",
)
RAISES = Kind(
    "raises",
    "Meta raises for arguments that the kernel accepts",
    "let Meta accept what the kernel accepts: the same defaults, optional arguments, ranks and "
    "dtypes",
)
OF_PROPERTY: dict[Property, Kind] = {
    "number": Kind(
        "wrong-number",
        "Meta returns another number of results",
        "return from Meta as many tensors as the kernel does, and None where it has none",
    ),
    "shape": Kind(
        "wrong-shape",
        "Meta says another shape than the kernel returns",
        "compute the shape from the sizes of the arguments, as the kernel does, for every rank; no "
        "number that fits one model only",
    ),
    "dtype": Kind(
        "wrong-dtype",
        "Meta says another dtype than the kernel returns",
        "take the dtype from where the kernel takes it: dtype=x.dtype, or a fixed one where it is "
        "fixed",
    ),
    "device": Kind(
        "wrong-device",
        "Meta says another device than that of the kernel's results",
        "allocate on the device of an argument: x.new_empty(...), or device=x.device",
    ),
    "aliasing": Kind(
        "wrong-aliasing",
        "Meta and kernel disagree about whose memory a result has",
        "return the argument itself from Meta if the kernel does, and a new tensor if it makes "
        "one; the schema says which it is",
    ),
    "strides": Kind(
        "wrong-strides",
        "Meta says other strides than the kernel's results have",
        "torch.empty_like(x) keeps the strides of x, x.new_empty(x.shape) is contiguous: take the "
        "one that does as the kernel",
    ),
    "offset": Kind(
        "wrong-offset",
        "Meta says another storage offset than the kernel's result has",
        "make the same view in Meta as in the kernel",
    ),
}
READS = Kind(
    "reads-data",
    "Meta reads what a tensor holds",
    "decide by shapes and attributes only; a size that depends on data is "
    "torch.library.get_ctx().new_dynamic_size()",
)
WRITES = Kind(
    "writes-arguments",
    "Meta writes an argument that the schema does not call written",
    "compute with new tensors: x + 1 in place of x.add_(1), or only shapes and torch.empty",
)
ALLOCATES = Kind(
    "allocates",
    "Meta allocates a tensor with data",
    "pass device=x.device to what Meta allocates; it needs no values, only shapes",
)
BOUNDS = Kind(
    "wrong-bounds",
    "the size of a result is outside of the bounds that Meta gives it",
    "correct min= and max= of new_dynamic_size()",
)


KINDS = (MISSING, RAISES, *OF_PROPERTY.values(), READS, WRITES, ALLOCATES, BOUNDS)
