"""Kernels are registered on every dispatch key that the operator needs.

The row reads the dispatcher's table of the operator. The cell shows every kernel with the place
that registered it.

* `PrivateUse1`, the NPU's own key: always, unless a composite kernel serves all devices. Without it
  torch_npu's fallback copies the arguments to the CPU, runs the CPU kernel there and copies back,
  with one warning; without a CPU kernel the call raises.
* `Meta`: always, unless composite, or where the operator only writes (`-> ()`). Without it
  torch.compile, export and fake tensors raise.
* `Autograd`: where a backward is declared. Without it gradients end at the operator.
* `Functionalize`: where a result is annotated as an argument. Without it torch refuses to
  functionalize the operator: no graphs.
* `AutocastPrivateUse1`: where autocast is declared.
* `BackendSelect`: where no argument is a tensor. Without it no call reaches the NPU's kernel. A
  kernel there may do the work itself and call what it needs by the device argument: without one for
  the CPU it is that of all devices, Meta among them, and a call on the NPU has to show that it is.

A `CompositeImplicitAutograd` kernel beside one for the NPU, without one for autograd, makes results
and gradients come from different code. Kernels of operators that nobody defines (a Meta function
that stayed when its operator was renamed) are reported with the operator that is spelled most
alike.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.check.finding import Kind
from opwright.check.observe.registrations import find_registered, find_stale, neighbour
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError
from opwright.internals.library import can_generate_trivial_fake_impl
from opwright.kit.live import dispatcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding
    from opwright.check.observe.registrations import Registered
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject

__all__ = ["ROW"]

STALE = Kind(
    "stale-implementation",
    "kernels are registered for an operator that is not defined",
    'remove them, or define the operator: m.def("name(...) -> ...")',
)
NO_DEVICE = Kind(
    "no-device-kernel",
    "there is no kernel for the NPU",
    "register one: TORCH_LIBRARY_IMPL(namespace, PrivateUse1, m) { m.impl(...); }",
)
NO_META = Kind(
    "no-meta",
    "there is no Meta kernel, so that the operator works in no graph",
    "register one: torch.library.register_fake, or m.impl for Meta; opwright derives it from "
    "shapes= and dtypes=",
)
NO_AUTOGRAD = Kind(
    "no-autograd",
    "a backward is declared and no kernel records calls",
    "register it for Autograd: torch.library.register_autograd",
)
NO_FUNCTIONALIZE = Kind(
    "no-functionalize",
    "torch.compile and torch.export refuse graphs with the operator: a result is an argument",
    "return nothing and let callers use what they gave (-> ()), give it the tag inplace, or "
    "register a Functionalize kernel",
)
NO_AUTOCAST = Kind(
    "no-autocast",
    "autocast is declared and no kernel casts",
    "register it for AutocastPrivateUse1: torch.library.register_autocast",
)
UNREACHABLE = Kind(
    "unreachable",
    "no argument is a tensor, so that the dispatcher does not find the NPU's kernel",
    "register a BackendSelect kernel that chooses by the device argument, or one kernel for all "
    "devices: CompositeExplicitAutograd",
)
HIDDEN = Kind(
    "composite-beside-kernel",
    "a CompositeImplicitAutograd kernel stands beside one for the NPU",
    "register the composite kernel as CompositeExplicitAutograd, and the backward for Autograd",
)

# The dispatcher's words.
NO_KERNEL = re.compile(r"Could not run '[^']*' with arguments from the '\w+' backend")
AUTOGRAD = ("Autograd", "AutogradPrivateUse1")


def run(context: RowContext) -> None:
    """Read the dispatcher's table."""
    subject = context.subject
    context.findings += find_stale_kernels(context)
    there = find_registered(subject.name)
    text = "\n".join(f"{key}: {place}" for key, place in there.kernels.items())
    context.details["kernels"] = f"defined: {there.place}\n{text}"
    context.ran.append(f"{len(there.kernels)} kernels: {', '.join(there.kernels)}")
    context.findings += find_missing(context, there)


def find_missing(context: RowContext, there: Registered) -> Iterator[Finding]:
    """Find keys without a kernel."""
    subject = context.subject
    place = (subject.is_foreign and there.place) or subject.place
    found = ", ".join(there.kernels) or "no kernel at all"
    serves_all = (
        there.has("BackendSelect")
        and not has_tensors(subject)
        and not there.has("PrivateUse1", "CPU")
    )
    if serves_all:
        yield from find_missing_selection(context, found, place)
    elif not there.runs_anywhere and not there.has("PrivateUse1"):
        fallen = "the CPU kernel runs instead, on copies" if there.has("CPU") else "calls raise"
        yield context.finding(
            NO_DEVICE,
            expected="a kernel for PrivateUse1",
            got=f"{found}: torch_npu's fallback is called, and {fallen}",
            place=place,
            script=(key_line("PrivateUse1"),),
        )
    needs_meta = not (
        there.runs_anywhere or serves_all or can_generate_trivial_fake_impl(subject.overload)
    )
    if needs_meta and not there.has("Meta"):
        yield context.finding(
            NO_META,
            expected="a kernel for Meta",
            got=found,
            place=place,
            script=(key_line("Meta"),),
        )
    if declares_backward(subject) and not there.is_composite and not there.has(*AUTOGRAD):
        yield context.finding(NO_AUTOGRAD, expected="a kernel for Autograd", got=found, place=place)
    if subject.operator.autocast is not None and not there.has("AutocastPrivateUse1"):
        yield context.finding(
            NO_AUTOCAST,
            expected=f"a kernel for AutocastPrivateUse1 that casts to {subject.operator.autocast}",
            got=found,
            place=place,
        )
    if lacks_functionalization(subject, there):
        yield context.finding(
            NO_FUNCTIONALIZE,
            expected="a kernel for Functionalize, or no annotated result",
            got=f"{found}; {subject.schema}",
            place=place,
        )
    if is_unreachable(subject, there):
        yield context.finding(
            UNREACHABLE,
            expected="a kernel for BackendSelect or for all devices",
            got=f"{found}; {subject.schema}",
            place=place,
        )
    if there.is_composite and there.has("PrivateUse1") and not there.has(*AUTOGRAD):
        yield context.finding(
            HIDDEN,
            expected="one kernel that is both run and differentiated",
            got=f"PrivateUse1 from {there.kernels['PrivateUse1']}, CompositeImplicitAutograd from "
            f"{there.kernels['CompositeImplicitAutograd']}",
            place=there.kernels["CompositeImplicitAutograd"],
        )


def has_tensors(subject: Subject) -> bool:
    """Return whether the dispatcher finds a kernel by a tensor."""
    return any(argument.type.has_tensors for argument in subject.schema.arguments)


def find_missing_selection(context: RowContext, found: str, place: str) -> Iterator[Finding]:
    """Find that a kernel for BackendSelect, which may serve the NPU itself, does not.

    Row numerics reports errors of calls; here it is the dispatcher's, which found no kernel.
    """
    sample = next(iter(context.samples.of(frozenset(), 0)), None)
    said = context.samples.why_none() or ""
    if sample is not None:
        try:
            context.call(context.arguments(sample), sample)
        except EagerCallError as error:
            said = str(error)
    if NO_KERNEL.search(said):
        yield context.finding(
            NO_DEVICE,
            expected="a kernel for PrivateUse1, or one for BackendSelect that does the work itself",
            got=f"{found}: {said}",
            place=place,
            sample=sample,
        )


def key_line(key: str) -> str:
    """Return the line of a script that asks for a kernel."""
    return f"assert torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), {key!r})"


def declares_backward(subject: Subject) -> bool:
    """Return whether the declaration says how to differentiate the operator."""
    return subject.operator.backward is not None


def lacks_functionalization(subject: Subject, there: Registered) -> bool:
    """Return whether torch refuses to functionalize the operator.

    torch's fallback takes operators without annotated results (FunctionalizeFallbackKernel.cpp),
    and in Python those with the tag inplace.
    """
    returned = any(result.alias is not None for result in subject.schema.results)
    tags = {each.name for each in subject.overload.tags}
    return (
        returned
        and not there.is_composite
        and not there.has("Functionalize")
        and not tags & {"inplace", "out"}
    )


def is_unreachable(subject: Subject, there: Registered) -> bool:
    """Return whether a call has nothing by which the dispatcher finds the kernel."""
    return not has_tensors(subject) and not there.runs_anywhere and not there.has("BackendSelect")


def find_stale_kernels(context: RowContext) -> Iterator[Finding]:
    """Find kernels of operators that are not defined, each with one operator of the set."""
    subject = context.subject
    found = find_stale(subject.namespace)
    if not found:
        return
    if subject.of_set is None:
        names = set(dispatcher.names_in(subject.namespace))
    else:
        known = [each for each in subject.of_set.operators if each.role == "declared"]
        names = {f"{subject.namespace}::{each.operator.name}" for each in known}
    for name, there in found.items():
        if neighbour(name, names) == subject.name:
            key, place = next(iter(there.kernels.items()))
            yield context.finding(
                STALE,
                expected=f"a definition of {name}",
                got=f"kernels for {', '.join(there.kernels)} alone",
                place=place or key,
            )


ROW = Row(
    name="registration",
    title="kernels are registered on every key that is needed",
    kinds=(
        STALE,
        NO_DEVICE,
        NO_META,
        NO_AUTOGRAD,
        NO_FUNCTIONALIZE,
        NO_AUTOCAST,
        UNREACHABLE,
        HIDDEN,
    ),
    run=run,
    columns=("registered",),
)
