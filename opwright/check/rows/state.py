"""A call leaves the state of the process as it found it.

An operator may want another default dtype, no gradients, one thread or a seed of its own for a
while. What it does not set back changes what its caller computes next, far from the call.

Settings are read before and after the call: of torch (grad mode, default dtype and device,
autocast, deterministic mode, threads, current device and the stream of each device, seeds and
generators of the CPU and of each NPU), of Python (filters of warnings, levels of loggers, sys.path,
standard output, random, numpy) and of the system (environment, working directory, locale, handlers
of signals, masks, open files, threads, how floating-point numbers are rounded). The finding names
what has changed.

What can be set back is set back: behind each call here, and behind each other row, so that it is
found once and a change to the same value each time is found at all. Behind rows that compile, only
settings are: a compiler sets variables when it is loaded, and reads them later.

A setting counts when a call changes it once. What may change when something is loaded for the first
time, as files, threads and filters of warnings, counts if it changes in repeated calls as well.
An operator that draws random numbers (the tag nondeterministic_seeded, deterministic=False, or an
argument `Generator`) moves the generators on; their seeds it must leave. The tag
nondeterministic_bitwise is about last bits and excuses no draws.

Among the samples are empty ones of each dtype: what is left early is often left unfinished.

The column `refused` does the same with the declared error samples, or with what the kernel for the
CPU refuses where nobody describes the operator: what is set back on the usual way out alone stays
changed when the operator raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.finding import Kind
from opwright.check.observe.probes import WRITABLE
from opwright.check.observe.process_state import keep_state, read_state, undo_changes
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.observe.process_state import Change
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

CHANGED = Kind(
    "changed",
    "a call changes the state of the process and leaves it so",
    "set it for a block alone, as torch.no_grad() does, or set it back on every way out "
    "(try/finally, a guard's destructor in C++)",
)

REPEATED = 3  # calls of a sample
MOST_REFUSED = 8


def run(context: RowContext) -> None:
    """Compare the state before and after calls."""
    if context.column == "refused":
        run_refused(context)
        return

    def examine(sample: Sample) -> Finding | None:
        return examine_calls(context, sample, is_refused=False)

    with keep_state(WRITABLE):  # an operator without a reference is called to find them
        samples = [*context.samples.of({"dtype", "presence", "size"}, 4), *context.samples.empty]
    context.each(examine, samples=samples)


def run_refused(context: RowContext) -> None:
    """Compare the state around calls that the operator must refuse.

    Raises
    ------
    NotApplicableError
        None is declared, nor refused by the library's kernel for the CPU.
    """
    with keep_state(WRITABLE):  # an operator without a reference is called to find them
        refused = context.samples.error_samples(MOST_REFUSED)
    if not refused:
        message = "the declaration has no error samples"
        raise NotApplicableError(message)
    for each in refused:
        found = context.examine(
            lambda sample: examine_calls(context, sample, is_refused=True), each
        )
        if found is not None:
            context.findings.append(found)
            return


def examine_calls(context: RowContext, sample: Sample, *, is_refused: bool) -> Finding | None:
    """Call the operator and return what it has changed, if anything."""
    found = [change_by_call(context, sample, is_refused=is_refused)]
    if not found[0]:
        return None
    found += [change_by_call(context, sample, is_refused=is_refused) for _ in range(REPEATED - 1)]
    lasting = [
        change
        for changes in found
        for change in changes
        if change.probe.is_setting
        or all(any(other.probe is change.probe for other in each) for each in found)
    ]
    first = {change.probe.name: change for change in reversed(lasting)}
    if not first:
        once = "\n".join(str(each) for each in found[0])
        context.details["changed by the first call alone"] = once
        return None
    changes = [change for change in lasting if first[change.probe.name] is change]
    return context.finding(
        CHANGED,
        expected=f"{', '.join(each.probe.name for each in changes)} as before the call",
        got="\n".join(map(str, changes)),
        sample=sample,
        script=script_of(
            next((each for each in changes if each.probe.is_expression), changes[0]),
            is_refused=is_refused,
        ),
    )


def change_by_call(context: RowContext, sample: Sample, *, is_refused: bool) -> list[Change]:
    """Return what one call changes, and set it back."""
    subject = context.subject
    draws = subject.is_seeded or not subject.operator.deterministic
    values = context.arguments(sample)
    context.synchronize()
    before = read_state()
    try:
        returned = context.call(values, sample)
    except EagerCallError:
        if not is_refused:
            raise
    else:
        del returned
    finally:
        changes = undo_changes(before)
    return [each for each in changes if not (draws and each.probe.is_drawn)]


def script_of(change: Change, *, is_refused: bool) -> tuple[str, ...]:
    """Return the lines that show a change, where an expression reads it."""
    if not change.probe.is_expression:
        return ()
    name = change.probe.name
    call: tuple[str, ...] = ("operator(**arguments('npu'))",)
    if is_refused:
        call = ("try:", "    operator(**arguments('npu'))", "except Exception: pass")
    return (
        *((f"import {name.partition('.')[0]}",) if not name.startswith("torch") else ()),
        f"before = {name}",
        *call,
        f"assert {name} == before, {name}",
    )


ROW = Row(
    name="state",
    title="a call leaves the state of the process as it is",
    kinds=(CHANGED,),
    run=run,
    columns=("eager", "refused"),
)
