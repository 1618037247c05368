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

import traceback
import warnings
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from opwright.check.finding import Kind
from opwright.check.observe.deviation import write_pick
from opwright.check.observe.large_sizes import (
    enlarge_to_meta,
    large_shapes,
    reference_takes,
    write_large,
)
from opwright.check.observe.meta_calls import (
    Allocations,
    call_meta,
    is_data_read,
    move_to_meta,
    remove_data,
)
from opwright.check.observe.metadata import Metadata, metadata
from opwright.check.observe.missing_meta import NO_META, is_missing_meta
from opwright.check.observe.registrations import find_registered
from opwright.check.observe.watch import Seen, place_in_stack, silence_torch, watch
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.check.samples import ALL
from opwright.check.subject import flat
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding
    from opwright.check.observe.metadata import Property
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

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
KINDS: dict[Property, Kind] = {
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

# Properties of a result that an operator made of others does not decide.
IN_MEMORY = ("strides", "offset")
NOTE = "Accessing the data pointer of FakeTensor"


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


def run_large(context: RowContext) -> None:
    """Compare the shapes of Meta with those of rules or reference, for many elements.

    Raises
    ------
    NotApplicableError
        Neither says what they are, or the operator has no Meta.
    """
    compared = False

    def examine(sample: Sample) -> Finding | None:
        nonlocal compared
        values = enlarge_to_meta(context, sample)
        want = None if values is None else large_shapes(context.subject, values)
        if values is None or not want:
            return None
        sizes = ", ".join(f"{n} {list(t.shape)}" for n, t in flat(values).items())
        trial = Trial(context, sample, Metadata({}, {}))
        context.calls += 1
        try:
            with silence_torch():
                returned = context.subject.call(values)
        except Exception as error:
            if is_missing_meta(error):
                raise NotApplicableError(NO_META) from error
            if context.subject.is_foreign or not reference_takes(context.subject, values):
                return None  # limits that nobody has declared
            compared = True
            text = f"for {sizes}: {type(error).__name__}: {error}"
            return trial.report(
                RAISES,
                f"results of the shapes {want}",
                text,
                error,
                script=write_large(context, sample, values),
            )
        compared = True
        got = flat(context.subject.computed(returned, values))
        for name, shape in want.items():
            if name in got and tuple(got[name].shape) != shape:
                pick = write_pick(context.subject.schema, name)
                return trial.report(
                    KINDS["shape"],
                    f"{name}: shape {list(shape)}, for {sizes}",
                    f"{name}: shape {list(got[name].shape)}",
                    script=(
                        *write_large(context, sample, values),
                        f"assert tuple({pick}.shape) == {shape}, {pick}.shape",
                    ),
                )
        return None

    context.each(examine, vary={"rank", "presence"}, examples=0)
    if not compared:
        message = "nothing says what the shapes of results are for larger arguments"
        raise NotApplicableError(message)


class Trial:
    """A call of Meta for one sample, beside the real call."""

    def __init__(self, context: RowContext, sample: Sample, real: Metadata) -> None:
        self.context = context
        self.sample = sample
        self.real = real
        self.is_fake = context.column == "fake"
        self.shapes = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.shapes)
        self.seen = Seen()

    def arguments(self) -> Values:
        """Return the arguments of the sample without data."""
        values = self.context.arguments(self.sample)
        if self.is_fake:
            return {
                name: map_tensors(lambda t: self.mode.from_tensor(t, static_shapes=True), value)
                for name, value in values.items()
            }
        return {
            name: move_to_meta(map_tensors(remove_data, value)) for name, value in values.items()
        }

    def finding(self) -> Finding | None:
        """Call Meta and return what is wrong."""
        values = self.arguments()
        versions = {name: tensor._version for name, tensor in flat(values).items()}  # noqa: SLF001 - it has no public name
        self.context.calls += 1
        try:
            with self.watch() as notes:
                returned = self.context.subject.call(values)
        except Exception as error:  # noqa: BLE001 - Meta is an author's function
            return self.raised(error)
        got = metadata(self.context.subject, returned, values)
        return (
            self.reads(notes)
            or self.differs(got)
            or self.out_of_bounds(got)
            or self.writes(values, versions)
            or self.allocates(values)
        )

    @contextmanager
    def watch(self) -> Iterator[list[str]]:
        """Watch a call of Meta; the list has what was read of a tensor's data by then."""
        notes: list[str] = []
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        try:
            with (
                silence_torch(),
                self.mode if self.is_fake else nullcontext(),
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always")
                with watch() as self.seen:
                    yield notes
        finally:
            torch.set_warn_always(before)
        notes += [
            f"data_ptr() at {each.filename}:{each.lineno}"
            for each in caught
            if NOTE in str(each.message)
        ]

    def raised(self, error: Exception) -> Finding | None:
        """Return what is wrong with a Meta that raises."""
        text = f"{type(error).__name__}: {error}".strip()
        if is_missing_meta(error):
            if not self.is_fake and not self.context.subject.schema.results:
                message = "the operator returns nothing and has no Meta; torch needs none for it"
                raise NotApplicableError(message)
            return self.report(MISSING, "a Meta function", text, error)
        if "data-dependent shape" in text and not self.is_fake:
            message = "the shape of a result depends on data, which meta tensors do not have"
            raise NotApplicableError(message)
        if is_data_read(error):
            return self.report(READS, "a Meta that needs no values", text, error)
        return self.report(RAISES, "what the kernel returns", text, error)

    def reads(self, notes: list[str]) -> Finding | None:
        """Return that Meta read data."""
        if self.seen.reads:
            name, place = self.seen.reads[0]
            return self.report(
                READS, "a Meta that needs no values", f"{name}() at {place}", place=place
            )
        if notes:
            return self.report(READS, "a Meta that needs no values", notes[0])
        return None

    def differs(self, got: Metadata) -> Finding | None:
        """Return the first difference between Meta and the kernel."""
        device = None if self.is_fake else "meta"
        there = find_registered(self.context.subject.name)
        for each in self.real.differences(got, device):
            if each.property in IN_MEMORY and there.runs_anywhere and not there.has("Meta"):
                continue  # it has no Meta of its own: those of other operators said so
            kind = KINDS[each.property]
            word = "" if each.property in {"number", "aliasing"} else f"{each.property} "
            source = "" if each.property == "device" else ", as the kernel returns it"
            return self.report(
                kind,
                f"{each.name}: {word}{each.expected}{source}",
                f"{each.name}: {word}{each.got}",
                script=self.comparison(each.name, each.property),
            )
        return None

    def out_of_bounds(self, got: Metadata) -> Finding | None:
        """Return that a size that depends on data is outside of its bounds."""
        others = flat(got.results)
        for name, tensor in flat(self.real.results).items():
            for axis, (size, bounded) in enumerate(
                zip(tensor.shape, others[name].shape, strict=True)
            ):
                if isinstance(bounded, int):
                    continue
                bounds = self.shapes.bound_sympy(bounded.node.expr)
                if not bounds.lower <= size <= bounds.upper:
                    return self.report(
                        BOUNDS,
                        f"{name}: size {size} of axis {axis}, as the kernel returns it",
                        f"a size between {bounds.lower} and {bounds.upper}",
                    )
        return None

    def writes(self, values: Values, versions: dict[str, int]) -> Finding | None:
        """Return that Meta wrote an argument that is not a written one."""
        for argument in self.context.subject.schema.arguments:
            if argument.is_written:
                continue
            for name, tensor in flat({argument.name: values[argument.name]}).items():
                if tensor._version != versions[name]:  # noqa: SLF001 - it has no public name
                    return self.report(
                        WRITES,
                        f"argument {name} as it was",
                        f"argument {name} written (its version counter went from "
                        f"{versions[name]} to {tensor._version})",  # noqa: SLF001 - as above
                    )
        return None

    def allocates(self, values: Values) -> Finding | None:
        """Return that Meta allocated tensors with data."""
        operator = self.context.subject.overload
        if self.is_fake or not dispatcher.has_kernel(operator, "Meta"):
            return None
        shapes = {
            tensor.shape for tensor in (*flat(values).values(), *flat(self.real.results).values())
        }
        recorder = Allocations(shapes)
        with recorder:
            call_meta(self.context, values)
        if not recorder.found:
            return None
        return self.report(ALLOCATES, "tensors on the device meta only", recorder.found[0])

    def report(
        self,
        kind: Kind,
        expected: str,
        got: str,
        error: Exception | None = None,
        *,
        place: str | None = None,
        script: tuple[str, ...] = (),
    ) -> Finding:
        """Make a finding at the line of Meta."""
        in_stack = None
        if error is not None:
            in_stack = place_in_stack(traceback.extract_tb(error.__traceback__), __file__)
        return self.context.finding(
            kind,
            expected=expected,
            got=got,
            sample=self.sample,
            place=place or in_stack or self.seen.function,
            error=error,
            script=script or self.call_lines(),
        )

    def call_lines(self) -> tuple[str, ...]:
        """Return the lines that call Meta with the arguments of the sample."""
        if not self.is_fake:
            return ("values = arguments('meta')", "meta = operator(**values)")
        return (
            "from torch._subclasses.fake_tensor import FakeTensorMode",
            "from torch.utils import _pytree",
            "mode = FakeTensorMode(shape_env=torch.fx.experimental.symbolic_shapes.ShapeEnv())",
            "fake = lambda t: mode.from_tensor(t, static_shapes=True)",
            "values = _pytree.tree_map_only(torch.Tensor, fake, arguments('npu'))",
            "with mode:",
            "    meta = operator(**values)",
        )

    def comparison(self, name: str, what: Property) -> tuple[str, ...]:
        """Return the lines that show a difference."""
        item, _, index = name.partition("[")
        names = self.context.subject.schema.output_names()
        if item not in names:
            return ()
        result = "" if len(names) == 1 else f"[{names.index(item)}]"
        result += f"[{index}" if index else ""
        shown = {
            "shape": ".shape",
            "dtype": ".dtype",
            "device": ".device",
            "strides": ".stride()",
            "offset": ".storage_offset()",
        }.get(what)
        lines = (*self.call_lines(), "real = operator(**arguments('npu'))")
        if shown is None:
            return lines
        wanted = (
            "torch.device('meta')"
            if shown == ".device" and not self.is_fake
            else f"real{result}{shown}"
        )
        return (
            *lines,
            f"got, want = meta{result}{shown}, {wanted}",
            "assert got == want, (got, want)",
        )


def is_for_meta(values: Values) -> bool:
    """Return whether a call has a meta tensor, or names the device."""
    return bool(flat(values)) or any(isinstance(each, torch.device) for each in values.values())


ROW = Row(
    name="meta",
    title="Meta says what the kernel returns",
    kinds=(MISSING, RAISES, *KINDS.values(), READS, WRITES, ALLOCATES, BOUNDS),
    run=run,
    columns=("meta", "fake", "large"),
)
