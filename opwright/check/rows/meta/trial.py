"""A call of Meta for one sample, judged beside the real call."""

from __future__ import annotations

import traceback
import warnings
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from opwright.check.observe.meta_calls import (
    Allocations,
    call_meta,
    is_data_read,
    move_to_meta,
    remove_data,
)
from opwright.check.observe.metadata import Metadata, metadata
from opwright.check.observe.missing_meta import is_missing_meta
from opwright.check.observe.registrations import find_registered
from opwright.check.observe.watch import Seen, place_in_stack, silence_torch, watch
from opwright.check.row_context import NotApplicableError
from opwright.check.rows.meta.kinds import (
    ALLOCATES,
    BOUNDS,
    MISSING,
    OF_PROPERTY,
    RAISES,
    READS,
    WRITES,
)
from opwright.check.rows.meta.scripts import write_call, write_comparison
from opwright.check.subject import flat
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding, Kind
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["Trial"]

# Properties of a result that an operator made of others does not decide.
IN_MEMORY = ("strides", "offset")
NOTE = "Accessing the data pointer of FakeTensor"


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
            kind = OF_PROPERTY[each.property]
            word = "" if each.property in {"number", "aliasing"} else f"{each.property} "
            source = "" if each.property == "device" else ", as the kernel returns it"
            return self.report(
                kind,
                f"{each.name}: {word}{each.expected}{source}",
                f"{each.name}: {word}{each.got}",
                script=write_comparison(
                    self.context.subject.schema, each.name, each.property, is_fake=self.is_fake
                ),
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
            script=script or write_call(is_fake=self.is_fake),
        )
