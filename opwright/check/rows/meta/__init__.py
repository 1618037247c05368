"""Meta says of each call what the kernel returns: shapes, dtypes, strides, devices, aliasing.

A Meta function (a fake kernel) answers for tensors without data. Every compiler believes it:
what it says wrongly becomes a wrong buffer, a crash in a graph, or numbers of another tensor.

The operator is called on the NPU, then with tensors without data of the same sizes, strides and
storage offsets:

* column `meta`: tensors of the device `meta`, as for a model that is built without memory;
* column `fake`: fake tensors on the NPU (`FakeTensorMode`), as `torch.compile` and
  `torch.export` make them;
* column `large`: tensors of the device `meta` whose sizes multiply to more than 2^32, which takes
  no memory. There is nothing to call: shapes are those of the declared rules, or of the reference.
  A Meta in C++ that multiplies sizes as `int` shows here.

Compared are the number of results and the lengths of lists, shapes, dtypes, devices, whose
memory a result has, strides of axes that are longer than one, and storage offsets; and the same
of the arguments after the call. In both columns Meta must not read what a tensor holds, must not
write its arguments (their version counters stay), and must not allocate tensors with data that
are as large as arguments or results.

A size that depends on data is one that Meta makes with
`torch.library.get_ctx().new_dynamic_size()`; it agrees with every size within its bounds. Such
an operator has no meta tensors, and column `meta` does not apply. Neither does it to an operator
that returns nothing and has no Meta: torch needs none for it.

An operator that is made of others (`aclnn=False`) has no Meta of its own. Where their NPU kernels
lay results out otherwise than their Metas say, as torch_npu's do for transposed arguments, it
cannot help that: strides and offsets of its results are not compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.observe.metadata import metadata
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.check.rows.meta.kinds import KINDS
from opwright.check.rows.meta.large import run_large
from opwright.check.rows.meta.trial import Trial
from opwright.check.samples import ALL
from opwright.check.subject import flat

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]


def run(context: RowContext) -> None:
    """Compare Meta with the kernel."""
    if context.column == "large":
        run_large(context)
        return
    compared = False

    def examine(sample: Sample) -> Finding | None:
        nonlocal compared
        values = context.arguments(sample)
        if context.column == "meta" and not is_for_meta(values):
            return None
        compared = True
        real = metadata(context.subject, context.call(values, sample), values)
        return Trial(context, sample, real).finding()

    context.each(examine, vary=ALL - {"value"}, examples=4)
    if not compared:
        message = "no argument says that a call is one for meta tensors"
        raise NotApplicableError(message)


def is_for_meta(values: Values) -> bool:
    """Return whether a call has a meta tensor, or names the device."""
    return bool(flat(values)) or any(isinstance(each, torch.device) for each in values.values())


ROW = Row(
    name="meta",
    title="Meta says what the kernel returns",
    kinds=KINDS,
    run=run,
    columns=("meta", "fake", "large"),
)
