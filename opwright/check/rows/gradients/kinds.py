"""The faults that the row finds."""

from __future__ import annotations

from opwright.check.finding import Kind

__all__ = [
    "DEVICE",
    "GRAPH",
    "KINDS",
    "LAYOUT",
    "LEAF",
    "PARTIAL",
    "RAISES",
    "REFUSAL",
    "REPEATED",
    "SECOND",
    "SHARED",
    "SILENT",
    "STALE",
    "WRONG",
]

WRONG = Kind(
    "wrong-gradient",
    "a gradient is not the derivative of the reference",
    "correct the backward; for broadcast inputs sum to their size (sum_to_size)",
)
SILENT = Kind(
    "silent-zero",
    "a gradient is zero or missing, without an error, where the reference has one",
    "return the gradient in the backward; in a reference that is differentiated, do not leave "
    "autograd with detach(), .data, numpy or torch.no_grad()",
)
RAISES = Kind(
    "backward-raises",
    "the backward raises",
    "return one gradient for each differentiable input, of its size; None where it has none",
)
REFUSAL = Kind(
    "no-refusal",
    "an operator without a backward does not say so when it is differentiated",
    "declare a backward, or register an Autograd kernel that raises",
)
SECOND = Kind(
    "second-derivative",
    "a second derivative is wrong or silently zero",
    "make the backward of differentiable operators, or mark it with once_differentiable",
)
DEVICE = Kind(
    "device-differs",
    "a gradient on the NPU is not the one on the CPU",
    "correct the kernel of the backward operator",
)
PARTIAL = Kind(
    "partial",
    "gradients depend on which other inputs or results have gradients",
    "compute each gradient from what is given alone: gradients of results may be None or zero, "
    "and ctx.needs_input_grad only says what can be left out",
)
LAYOUT = Kind(
    "grad-layout",
    "the backward is wrong for a gradient that is not contiguous",
    "use the strides of grad_output in the kernel, or grad_output.contiguous()",
)
SHARED = Kind(
    "shared-argument",
    "the gradient of a tensor that is passed twice is not the sum of both",
    "give each argument its own gradient; autograd adds them",
)
REPEATED = Kind(
    "repeated-backward",
    "a second backward through one graph gives something else than the first",
    "do not write saved tensors or grad_output in the backward",
)
STALE = Kind(
    "stale-saved",
    "the gradient changes when a tensor is overwritten after the call",
    "save tensors with ctx.save_for_backward (SavedVariable in C++), which notices that",
)
LEAF = Kind(
    "leaf-written",
    "a leaf tensor that requires grad is written",
    "mark what is written: ctx.mark_dirty, or check_inplace in C++",
)
GRAPH = Kind(
    "graph-kept",
    "results have a graph although nothing requires grad",
    "do not call requires_grad_ on results, nor force grad mode in the kernel",
)

KINDS = (
    *(WRONG, SILENT, RAISES, REFUSAL, SECOND, DEVICE, PARTIAL, LAYOUT),
    *(SHARED, REPEATED, STALE, LEAF, GRAPH),
)
