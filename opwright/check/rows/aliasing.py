"""Results have memory of their own, unless the schema says whose they have.

The storages of results are compared with those of the arguments and with each other, for samples of
different sizes (an operator may return its input where there is nothing to do), dtypes and values.

* torch takes a result without annotation for a new tensor: a graph reuses or overwrites its memory,
  and autograd, functionalization and the memory planner are wrong together.
* A result that is annotated as an argument must be that argument.
* Two results in one storage (halves of one allocation) change together where one of them is
  written, and graphs do write into results.
* A result that shows a small part of a large workspace keeps all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.finding import Kind
from opwright.check.observe.memory import Form, identity, label_tensors, share_memory
from opwright.check.observe.tensors import base
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError
from opwright.check.subject import pack_results

if TYPE_CHECKING:
    import torch

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.declare.schema import Argument
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

ALIASED = Kind(
    "undeclared-alias",
    "a result has the memory of an argument and the schema does not say so",
    "return a new tensor, for example x.clone(), where the result could be the argument",
)
RETURNED = Kind(
    "written-argument-returned",
    "a written argument is returned without annotation",
    "annotate the result as the argument is, -> Tensor(a!), or return nothing",
)
NO_ALIAS = Kind(
    "alias-is-none",
    "a result that is annotated as an argument is another tensor",
    "return the argument itself, or remove the annotation of the result",
)
SHARED = Kind(
    "results-share",
    "two results have one storage",
    "allocate each result, or clone the second",
)
WORKSPACE = Kind(
    "view-of-workspace",
    "a result is a small part of a large allocation, which it keeps",
    "allocate the result apart from the workspace, or return a clone of its part",
)

SPARE = 1024  # bytes: allocations are rounded up, to 512 at most


def needs(subject: Subject) -> str | None:
    """Say that there is no result with memory."""
    if any(result.type.has_tensors for result in subject.schema.results):
        return None
    return "no result is a tensor"


def run(context: RowContext) -> None:
    """Compare storages."""
    device = context.device_of_column()

    def examine(sample: Sample) -> Finding | None:
        values = context.arguments(sample, device)
        try:
            returned = context.call(values, sample)
        except EagerCallError as error:
            if "OPW-L013" not in str(error):
                raise
            expected = "results with memory of their own"
            return context.finding(ALIASED, expected=expected, got=str(error), sample=sample)
        return judge_memory(context, sample, values, returned)

    context.each(examine, vary={"dtype", "size", "presence", "length", "value"}, examples=12)


def judge_memory(
    context: RowContext, sample: Sample, values: Values, returned: object
) -> Finding | None:
    """Return what is wrong with the memory of results."""
    schema = context.subject.schema
    names = schema.output_names()
    results = pack_results(returned, len(names))
    owners = [(f"argument {label}", tensor) for _, label, tensor in label_tensors(values)]
    for index, (name, result) in enumerate(zip(names, schema.results, strict=True)):
        argument = schema.aliased_argument(result)
        for _, label, tensor in label_tensors({name: results[index]}):
            if argument is not None:
                if not is_of(tensor, argument, values):
                    return other_tensor(context, sample, label, tensor, argument, values)
                continue
            if result.alias is not None:
                continue  # of no argument: row schema reports it
            other = next((owner for owner, memory in owners if share_memory(tensor, memory)), None)
            if other is not None:
                return report_alias(context, sample, label, other, index)
            wasted = tensor.untyped_storage().nbytes() - tensor.numel() * tensor.element_size()
            if wasted > max(SPARE, tensor.numel() * tensor.element_size()) and is_plain(tensor):
                return workspace(context, sample, label, tensor)
            owners.append((f"result {label}", tensor))
    return None


def is_of(tensor: torch.Tensor, argument: Argument, values: Values) -> bool:
    """Return whether a result is the argument, or a view of it if the annotation has no write."""
    for _, _, given in label_tensors({argument.name: values[argument.name]}):
        same = Form.of(tensor) == Form.of(given) or not argument.is_written
        if identity(tensor) == identity(given) and same:
            return True
    return False


def is_plain(tensor: torch.Tensor) -> bool:
    """Return whether a tensor's memory has as many elements as the tensor: no format of the NPU."""
    if tensor.device.type == "cpu":
        return True
    import torch_npu  # noqa: PLC0415 - the process that checks has it

    plain: bool = torch_npu.get_npu_format(tensor) in {
        torch_npu.Format.ND,
        torch_npu.Format.NCHW,
        torch_npu.Format.UNDEFINED,
    }
    return plain


def report_alias(
    context: RowContext, sample: Sample, label: str, other: str, index: int
) -> Finding:
    """Return the finding of a result with the memory of another tensor."""
    kind, name = other.split(" ", 1)
    written = context.subject.schema.argument(base(name))
    if kind == "result":
        found = SHARED
    elif written is not None and written.is_written:
        found = RETURNED
    else:
        found = ALIASED
    many = len(context.subject.schema.results) > 1
    picked = f"returned[{index}]" if many else "returned"
    place = "cpu" if context.column == "cpu" else "npu"
    script: tuple[str, ...] = ()
    if kind == "argument" and label == context.subject.schema.output_names()[index]:
        item = f"[{name.partition('[')[0]!r}]{name[len(name.partition('[')[0]) :]}"
        script = (
            f"values = arguments({place!r})",
            "returned = operator(**values)",
            f"given = values{item}.untyped_storage()",
            f"assert {picked}.untyped_storage()._cdata != given._cdata",
        )
    return context.finding(
        found,
        expected=f"{label} with memory of its own, as {context.subject.schema} says",
        got=f"the memory of {other}",
        sample=sample,
        script=script,
    )


def other_tensor(
    context: RowContext,
    sample: Sample,
    label: str,
    tensor: torch.Tensor,
    argument: Argument,
    values: Values,
) -> Finding:
    """Return the finding of a result that is not the argument."""
    given = next(label_tensors({argument.name: values[argument.name]}), None)
    form = "None" if given is None else str(Form.of(given[2]))
    return context.finding(
        NO_ALIAS,
        expected=f"{label} to be argument {argument}: {form}",
        got=f"a tensor with other memory: {Form.of(tensor)}"
        if given is None or identity(tensor) != identity(given[2])
        else f"another view of it: {Form.of(tensor)}",
        sample=sample,
    )


def workspace(context: RowContext, sample: Sample, label: str, tensor: torch.Tensor) -> Finding:
    """Return the finding of a result that keeps a large allocation."""
    return context.finding(
        WORKSPACE,
        expected=f"about {tensor.numel() * tensor.element_size()} bytes for {label}, "
        f"{list(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}",
        got=f"an allocation of {tensor.untyped_storage().nbytes()} bytes, "
        f"of which it begins at element {tensor.storage_offset()}",
        sample=sample,
    )


ROW = Row(
    name="aliasing",
    title="results have memory of their own, or that of the annotated argument",
    kinds=(ALIASED, RETURNED, NO_ALIAS, SHARED, WORKSPACE),
    run=run,
    columns=("npu", "cpu"),
    needs=needs,
)
