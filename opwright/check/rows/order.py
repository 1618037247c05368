"""An operator orders its work on several streams, and the caller's work behind it.

The operator is called on a stream of the caller's that has just written the arguments, in a process
whose tasks are compared as `opwright run --order` does it (docs/order.md): byte by byte, by the
waits of the program and not by the order in which the tasks happen to run. Then, on the same stream
and without a wait of the host, the caller reads the results, writes the arguments, lets go of all
of them, and makes tensors of their sizes, which get their memory and that of the operator's
temporaries. Each of these has to happen behind what the operator launched elsewhere.

What shows is a side stream that does not wait for the current one, or that the current one does not
wait for; a temporary that is freed while another stream uses it, without `record_stream`; pinned
memory that is read or changed while a copy is on its way. An operator that launches on the current
stream alone passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.subject import flat
from opwright.kit.live.arguments import tensors_in
from opwright.twin.order import is_checked, take_findings

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

UNORDERED = Kind(
    "unordered",
    "nothing orders accesses of the same memory by the operator and by its caller",
    "let the side stream wait for the current one before the first task and the current one for "
    "the side stream after the last (wait_stream); Tensor.record_stream for memory that another "
    "stream uses when it is freed",
)

EXAMPLES = 4  # random samples: an order does not depend on values


def run(context: RowContext) -> None:
    """Call the operator with few samples of several sizes."""
    if not is_checked():
        message = "this process does not compare what its streams do: opwright run --order"
        raise NotApplicableError(message)
    context.each(
        lambda sample: examine(context, sample),
        vary={"size", "length", "dtype", "presence"},
        examples=EXAMPLES,
    )


def examine(context: RowContext, sample: Sample) -> Finding | None:
    """Use the operator's tensors on the stream that it was called on."""
    npu = torch.get_device_module(context.device)
    context.synchronize()
    take_findings()
    with npu.stream(npu.Stream()):
        context.calls += 1
        try:
            use(context, sample)
            context.synchronize()
        except Exception as error:
            raise EagerCallError(sample, error) from error
    found = take_findings()
    if not found:
        return None
    return context.finding(
        UNORDERED,
        expected="each access behind those of other streams to the same bytes, if one writes",
        got=found[0].text.rstrip(),
        sample=sample,
        script=SCRIPT,
    )


def use(context: RowContext, sample: Sample) -> None:
    """Write the arguments, call, read the results, write the arguments, take the memory of both."""
    values = context.arguments(sample)
    for bytes_ in map(bytes_of, tensors(values)):
        bytes_.copy_(bytes_.clone())  # on this stream: a copy from the host has been waited for
    results = flat(context.subject.computed(context.subject.call(values), values))
    read = [each.detach().clone() for each in results.values()]
    given = tensors(values)
    sizes = [each.untyped_storage().nbytes() for each in [*given, *read]]
    for each in given:
        bytes_of(each).zero_()
    device = given[0].device if given else torch.device(context.device)
    values.clear()
    results.clear()
    del given, read
    taken = [torch.zeros(size, dtype=torch.uint8, device=device) for size in sizes * 2]
    del taken


def tensors(values: Values) -> list[torch.Tensor]:
    """Return the tensors among arguments."""
    return [each for value in values.values() for each in tensors_in(value)]


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the memory of a tensor, whose own elements may overlap or leave gaps."""
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return whole.set_(tensor.untyped_storage())


SCRIPT = (
    "# opwright run --order -- python THIS_FILE",
    "from opwright.twin import order",
    "with torch.npu.stream(torch.npu.Stream()):",
    "    values = arguments('npu')",
    "    for each in values.values():",
    "        if isinstance(each, torch.Tensor):",
    "            each.detach().copy_(each.detach().clone())",
    "    result = operator(**values)",
    "    result = result if isinstance(result, torch.Tensor) else result[0]",
    "    copied = result.clone()",
    "    for each in values.values():",
    "        if isinstance(each, torch.Tensor):",
    "            each.detach().zero_()",
    "    del values, result, each",
    "    taken = [torch.zeros_like(copied) for _ in range(4)]",
    "torch.npu.synchronize()",
    "assert not order.take_findings()",
)

ROW = Row(
    name="order",
    title="work on several streams is ordered",
    kinds=(UNORDERED,),
    run=run,
    process="ordered",
)
