"""A call computes on the device of its tensors, whichever device is current.

The arguments are on `npu:1` while `npu:0` is the current device, as in a process that shards a
model. Results must be on the device of the arguments and what they are on `npu:0`, and `npu:0` must
still be the current device after the call. A kernel that allocates with the device "npu", or takes
the stream of the current device, passes every test with one device.

Results of operators that draw random numbers are not compared. The row does not apply with one
device, and to operators without an argument that says where they run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.observe.against_reference import is_random
from opwright.check.observe.deviation import deviation, write_pick
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.subject import flat
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

ELSEWHERE = Kind(
    "wrong-device",
    "a result is not on the device of the arguments",
    'allocate where the arguments are: device=x.device or x.new_empty(...), not device="npu"; in '
    "C++ x.options()",
)
RAISES = Kind(
    "raises",
    "the operator raises for tensors of a device that is not the current one",
    "make it current for the call: with torch.npu.device(x.device), or in C++ a device guard "
    "(c10_npu::NPUGuard)",
)
DIFFERS = Kind(
    "differs",
    "results differ on a device that is not the current one",
    "launch on a stream of the tensors' device, with that device current",
)
LEFT = Kind(
    "left-current",
    "another device is current after the call",
    "set it for a block alone: with torch.npu.device(...), or a device guard in C++",
)

OTHER = 1  # number of the arguments' device; 0 is the current one


def needs(subject: Subject) -> str | None:
    """Return why the row does not apply: no argument says where the operator runs."""
    if any(a.type.has_tensors or a.type.base is Base.DEVICE for a in subject.schema.arguments):
        return None
    return "no argument says on which device it runs"


def run(context: RowContext) -> None:
    """Compare calls on two devices."""
    module = torch.get_device_module(context.device)
    if module.device_count() <= OTHER:
        message = "there is one device"
        raise NotApplicableError(message)

    device = f"{context.device}:{OTHER}"
    compared = False

    def examine(sample: Sample) -> Finding | None:
        nonlocal compared
        if not has_place(context.arguments(sample, device), device):
            return None
        compared = True
        with module.device(0):
            return examine_on(context, sample, device)

    context.each(examine, vary={"dtype", "presence", "length"}, examples=2)
    if not compared:
        message = "no argument of a sample says on which device it runs"
        raise NotApplicableError(message)


def has_place(values: Values, device: str) -> bool:
    """Return whether arguments say where a call runs: optional tensors may be absent."""
    return bool(flat(values)) or torch.device(device) in values.values()


def examine_on(context: RowContext, sample: Sample, device: str) -> Finding | None:
    """Call the operator on the current device and on another one."""
    subject = context.subject
    module = torch.get_device_module(context.device)
    lines = ("torch.npu.set_device(0)", f"values = arguments({device!r})")
    plain = context.arguments(sample)
    want = flat(subject.computed(context.call(plain, sample), plain))
    values = context.arguments(sample, device)
    try:
        returned = context.call(values, sample)
        current = module.current_device()
        module.synchronize(OTHER)
    except (EagerCallError, RuntimeError) as error:
        return context.finding(
            RAISES,
            expected=f"results on {device}, as on {context.device}:0",
            got=str(error),
            sample=sample,
            error=getattr(error, "error", error),  # the operator's own
            script=(*lines, "operator(**values)", f"torch.npu.synchronize({OTHER})"),
        )
    if current != 0:
        return context.finding(
            LEFT,
            expected=f"{context.device}:0 current after the call, as before",
            got=f"{context.device}:{current}",
            sample=sample,
            script=(
                *lines,
                "operator(**values)",
                "assert torch.npu.current_device() == 0, torch.npu.current_device()",
            ),
        )
    got = flat(subject.computed(returned, values))
    for name, tensor in want.items():
        if tensor.device.type != torch.device(device).type:
            continue  # on the host, whatever the device
        pick = write_pick(subject.schema, name)
        if got[name].device != torch.device(device):
            return context.finding(
                ELSEWHERE,
                expected=f"{name} on {device}, where the arguments are",
                got=str(got[name].device),
                sample=sample,
                script=(
                    *lines,
                    "returned = operator(**values)",
                    f"assert {pick}.device == torch.device({device!r}), {pick}.device",
                ),
            )
        found = deviation(got[name], tensor, subject.operator.tolerances)
        if found.is_wrong and not (found.wrong and is_random(context, sample)):
            return context.finding(
                DIFFERS,
                expected=f"{name} as on {context.device}:0",
                got=f"on {device}: {found}",
                sample=sample,
                script=(*lines, "returned = operator(**values)", *found.line(pick)),
            )
    return None


ROW = Row(
    name="devices",
    title="a call computes on the device of its tensors, whichever is current",
    kinds=(ELSEWHERE, RAISES, DIFFERS, LEFT),
    run=run,
    needs=needs,
)
