"""Calls with equal arguments give equal bits.

The operator is called ten times with equal arguments. Before each call the device memory that it
will get is filled with another pattern, so that a read of uninitialised memory shows. Then it is
called with other values of the same shapes, and with the first ones again: what it keeps from one
call to the next shows there. The first sample is called up to 1,000 times, as long as that takes a
fraction of a second: a counter that runs over, or a cache that is full, shows only then. In the end
the calls are repeated under torch.use_deterministic_algorithms(True).

An operator that is declared with `deterministic=False`, or has the tag nondeterministic_bitwise,
may differ from call to call; in deterministic mode it must then be deterministic, or raise.
An operator with the tag nondeterministic_seeded is called after torch.manual_seed with equal seeds:
it must draw from the generator that this sets. One with a Generator argument is also called with
generators of equal seeds, which must give equal results, and twice with one generator, which must
not.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.observe.tensors import first_unequal, replace_tensors, roll, tensor_arguments
from opwright.check.observe.tolerance import difference as apart
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError
from opwright.check.subject import flat
from opwright.kit.declare.sample import Tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.samples import Aspect
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

DIFFERS = Kind(
    "differs",
    "calls with equal arguments give different results",
    "initialise what the kernel accumulates into and fix the order of its sums; or state it: "
    "deterministic=False",
)
STATE = Kind(
    "state",
    "the operator keeps something from one call to the next",
    "let the kernel compute from its arguments alone; a cache needs all of them in its key",
)
SEED = Kind(
    "seed-ignored",
    "results differ after torch.manual_seed with equal seeds",
    "take seed and offset from the generator of the device: "
    "torch_npu's NPUGeneratorImpl::philox_engine_inputs, or the Generator argument",
)
GENERATOR = Kind(
    "generator-ignored",
    "results differ with generators of equal seeds",
    "draw from the generator that the caller gives: pass generator.seed and generator.offset to "
    "the aclnn function",
)
REPEATS = Kind(
    "draws-repeat",
    "two calls with one generator draw the same numbers",
    "pass generator.offset to the aclnn function beside generator.seed, and let the kernel begin "
    "there",
)
MODE = Kind(
    "deterministic-mode",
    "the operator does not keep to torch.use_deterministic_algorithms(True)",
    "choose a deterministic kernel where torch.are_deterministic_algorithms_enabled(), or raise "
    "there: at::globalContext().alertNotDeterministic(name)",
)

CALLS = 10
DRAWS = 32  # with one generator: even masks of two elements are not equal so often by chance
MOST_CALLS = 1000  # of the first sample
SECONDS = 0.5  # of processor time for these, all threads together
Results = dict[str, torch.Tensor]
# By how much a reference in half precision may differ from itself where it sums in another order;
# a kernel that sums in float32 does not.
ROUNDED = {
    "float16": Tolerance(rtol=0.02, atol=0.02),
    "bfloat16": Tolerance(rtol=0.1, atol=0.1),
}


def run(context: RowContext) -> None:
    """Compare calls."""
    seeded = context.subject.is_seeded
    long_run: Sample | None = None
    loose = context.subject.is_declared_nondeterministic and not seeded

    def examine(sample: Sample) -> Finding | None:
        nonlocal long_run
        if seeded:
            return examine_seeded(context, sample)
        found = list(repeat(context, sample))
        varies = False
        if loose:
            count = sum(first_unequal(found[0], each) is not None for each in found)
            varies = count > 0
            context.details["declared"] = (
                f"nondeterministic; {count} of {CALLS} results differ from the first"
            )
        elif (text := difference(found)) is not None:
            return describe_difference(context, sample, found, text)
        # A result that is kept is equal each time. Draws of few bits are equal by chance, also for
        # other values.
        state = None if varies else examine_state(context, sample, found[0], loose=loose)
        is_long = not (loose or context.samples.is_quick)
        if state is None and is_long and long_run in (None, sample):
            long_run = sample
            state = examine_long_run(context, sample, found[0])
        return state or examine_mode(context, sample, loose=loose)

    aspects: set[Aspect] = {"dtype", "size", "presence", "length"}
    if seeded:
        aspects.add("value")  # a factor of 0 or a probability of 1 leaves nothing to draw
    context.each(examine, vary=aspects, examples=3)


def repeat(context: RowContext, sample: Sample, count: int = CALLS) -> Iterator[Results]:
    """Yield the results of calls with equal arguments, in memory that had other contents before."""
    sizes: list[int] = []
    for index in range(count):
        fill_free_memory(context.device, sizes, 37 * index + 11)
        results = flat(context.run(sample))
        sizes = [each.untyped_storage().nbytes() for each in results.values()]
        yield {name: each.detach().cpu() for name, each in results.items()}
        del results


def fill_free_memory(device: str, sizes: list[int], pattern: int) -> None:
    """Let the next allocations of these sizes find a pattern."""
    blocks = [
        torch.full((size,), pattern % 256, dtype=torch.uint8, device=device)
        for size in sizes
        for _ in range(2)
    ]
    del blocks


def difference(found: list[Results]) -> tuple[int, str, str] | None:
    """Return the first call that differs from the first one, the result, and how."""
    for index, each in enumerate(found[1:], start=2):
        unequal = first_unequal(found[0], each)
        if unequal is not None:
            return index, *unequal
    return None


def describe_difference(
    context: RowContext, sample: Sample, found: list[Results], text: tuple[int, str, str]
) -> Finding:
    """Describe how calls differ: by what is kept, by a seed, or in any way."""
    index, name, how = text
    got = f"{name} of call 1 and call {index}: {how}"
    if all(first_unequal(found[1], each) is None for each in found[2:]):
        return context.finding(
            STATE, expected=f"{CALLS} equal results", got=got, sample=sample, script=SCRIPT
        )
    again = [call_with_seed(context, sample, 5) for _ in range(2)]
    fix = None
    if first_unequal(*again) is None:
        fix = "equal seeds give equal results: give the operator the tag nondeterministic_seeded"
    return context.finding(
        DIFFERS, expected=f"{CALLS} equal results", got=got, sample=sample, fix=fix, script=SCRIPT
    )


SCRIPT = (
    "results = [operator(**arguments('npu')) for _ in range(10)]",
    "first = results[0] if isinstance(results[0], torch.Tensor) else results[0][0]",
    "for each in results:",
    "    each = each if isinstance(each, torch.Tensor) else each[0]",
    "    assert torch.equal(first, each), (first, each)",
)


def call_with_seed(context: RowContext, sample: Sample, seed: int) -> Results:
    """Call the operator after setting the seed of all generators."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return {name: each.cpu() for name, each in flat(context.run(sample)).items()}


def examine_seeded(context: RowContext, sample: Sample) -> Finding | None:
    """Compare calls after equal seeds."""
    first = call_with_seed(context, sample, 5)
    for _ in range(3):
        unequal = first_unequal(first, call_with_seed(context, sample, 5))
        if unequal is not None:
            return context.finding(
                SEED,
                expected="equal results after torch.manual_seed(5)",
                got=f"{unequal[0]}: {unequal[1]}",
                sample=sample,
                script=(
                    "torch.manual_seed(5)",
                    "first = operator(**arguments('npu'))",
                    "torch.manual_seed(5)",
                    "second = operator(**arguments('npu'))",
                    "assert torch.equal(first, second), (first, second)",
                ),
            )
    other = call_with_seed(context, sample, 6)
    same = first_unequal(first, other) is None
    context.details["seeds"] = f"two seeds give {'equal' if same else 'different'} results"
    return examine_generator(context, sample, is_random=not same)


def examine_generator(context: RowContext, sample: Sample, *, is_random: bool) -> Finding | None:
    """Compare calls that are given generators.

    Parameters
    ----------
    is_random
        Whether results depend on what is drawn.
    """
    names = [argument.name for argument in context.subject.schema.generators]
    if not names:
        return None

    def given() -> Values:
        return {name: torch.Generator(context.device).manual_seed(5) for name in names}

    def drawn(generators: Values) -> Results:
        values = context.arguments(sample) | generators
        results = context.subject.computed(context.call(values, sample), values)
        return {name: each.cpu() for name, each in flat(results).items()}

    generators = given()
    first = drawn(generators)
    # Draws of a few bits are often equal: several are compared.
    others = (drawn(given()) for _ in range(4))
    unequal = next(filter(None, (first_unequal(first, each) for each in others)), None)
    lines = (
        "def generators():",
        f"    return {{n: torch.Generator('npu').manual_seed(5) for n in {names!r}}}",
        "def draw(given):",
        "    result = operator(**arguments('npu'), **given)",
        "    return result if isinstance(result, torch.Tensor) else result[0]",
    )
    if unequal is not None:
        return context.finding(
            GENERATOR,
            expected="equal results with generators of seed 5",
            got=f"{unequal[0]}: {unequal[1]}",
            sample=sample,
            script=(*lines, "assert torch.equal(draw(generators()), draw(generators()))"),
        )
    if (
        is_random
        and first
        and all(first_unequal(first, drawn(generators)) is None for _ in range(DRAWS))
    ):
        return context.finding(
            REPEATS,
            expected="other numbers in the second call with one generator",
            got="equal results",
            sample=sample,
            script=(
                *lines,
                "given = generators()",
                "assert not torch.equal(draw(given), draw(given))",
            ),
        )
    return None


def examine_state(
    context: RowContext, sample: Sample, first: Results, *, loose: bool
) -> Finding | None:
    """Call the operator with other values, then with the first ones again."""
    if context.subject.reference is None:
        return None

    for others, change in ((rolled, ROLLED), (reseeded, ())):
        found = examine_after(context, sample, first, others, change, loose=loose)
        if found is not None:
            return found
    return None


# Lines of a script that change `other` as `rolled` does.
ROLLED = (
    "for n, v in other.items():",
    "    if torch.is_tensor(v) and v.numel() > 1:",
    "        other[n] = v.reshape(-1).roll(1).reshape(v.shape)",
    "    elif torch.is_tensor(v) and v.is_floating_point():",
    "        other[n] = v * (1 - 1 / 16)",
)


def rolled(context: RowContext, sample: Sample, device: str) -> Values:
    """Return the values of a sample in another order: they stay among what is allowed."""
    values = context.arguments(sample, device)
    names = tensor_arguments(context.subject.schema, values)
    return replace_tensors(values, names, lambda _, each: roll(each))


def reseeded(context: RowContext, sample: Sample, device: str) -> Values:
    """Return other values, whose sums and largest are others as well."""
    return context.arguments(sample.with_seed(sample.seed + 101), device)


def examine_after(
    context: RowContext,
    sample: Sample,
    first: Results,
    others: Callable[[RowContext, Sample, str], Values],
    change: tuple[str, ...],
    *,
    loose: bool,
) -> Finding | None:
    """Call the operator with some other values, then with the first ones again.

    Parameters
    ----------
    change
        Lines of a script that make the other values in `other`; none if no line can.
    """
    try:
        # Other values may be refused: what holds for some need not for others.
        want = flat(context.subject.expected(others(context, sample, "cpu")))
        values = others(context, sample, context.device)
        got = flat(context.subject.computed(context.call(values, sample), values))
    except (EagerCallError, ValueError, TypeError, RuntimeError, IndexError):
        return None
    usual = flat(context.expected(sample))
    stays = first_unequal({n: t.cpu() for n, t in got.items()}, first) is None
    tolerances = ROUNDED | dict(context.subject.operator.tolerances)
    texts = {name: apart(usual[name], each, tolerances) for name, each in want.items()}
    name, how = next(((name, text) for name, text in texts.items() if text), ("", ""))
    if got and stays and name:
        return context.finding(
            STATE,
            expected=f"other values, other results; {name} of the reference: {how}",
            got=f"the results of the calls before, with other values: {', '.join(got)}",
            sample=sample,
            script=(
                "pick = lambda result: result if isinstance(result, torch.Tensor) else result[0]",
                "first = pick(operator(**arguments('npu')))",
                "other = arguments('npu')",
                *change,
                "assert not torch.equal(first, pick(operator(**other)))",
            )
            if change
            else (),
        )
    if loose:
        return None
    unequal = first_unequal(first, next(repeat(context, sample, 1)))
    if unequal is None:
        return None
    return context.finding(
        STATE,
        expected="the result of the call before, for equal arguments",
        got=f"after a call with other values, {unequal[0]}: {unequal[1]}",
        sample=sample,
    )


def examine_long_run(context: RowContext, sample: Sample, first: Results) -> Finding | None:
    """Call the operator many times with equal arguments."""
    end = time.process_time() + SECONDS  # so that a busy machine makes as many calls
    for index in range(MOST_CALLS):
        results = {name: each.detach().cpu() for name, each in flat(context.run(sample)).items()}
        unequal = first_unequal(first, results)
        if unequal is not None:
            return context.finding(
                STATE,
                expected="equal results, however often it is called",
                got=f"{unequal[0]} after {index} more calls: {unequal[1]}",
                sample=sample,
                script=LONG_RUN,
            )
        if time.process_time() > end:
            break
    context.details["calls with equal arguments"] = str(index + 1)
    return None


LONG_RUN = (
    "pick = lambda result: result if isinstance(result, torch.Tensor) else result[0]",
    "first = pick(operator(**arguments('npu')))",
    "for _ in range(1000):",
    "    again = pick(operator(**arguments('npu')))",
    "    assert torch.equal(first, again), (first, again)",
)


@contextmanager
def deterministic_mode() -> Iterator[None]:
    """Ask torch for deterministic algorithms; fresh memory stays as it is."""
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(mode=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)


def examine_mode(context: RowContext, sample: Sample, *, loose: bool) -> Finding | None:
    """Compare calls in deterministic mode."""
    script = ("torch.use_deterministic_algorithms(True)", *SCRIPT)
    try:
        with deterministic_mode():
            found = list(repeat(context, sample, 3 if not loose else CALLS))
    except EagerCallError as error:
        if loose:
            return None  # it says so, as it should
        return context.finding(
            MODE,
            expected="results: the operator is declared deterministic",
            got=str(error),
            sample=sample,
            script=script,
            error=error.error,
        )
    text = difference(found)
    if text is None:
        return None
    index, name, how = text
    return context.finding(
        MODE,
        expected="equal results in deterministic mode, or an error",
        got=f"{name} of call 1 and call {index}: {how}",
        sample=sample,
        script=script,
    )


ROW = Row(
    name="determinism",
    title="equal calls give equal bits",
    kinds=(DIFFERS, STATE, SEED, GENERATOR, REPEATS, MODE),
    run=run,
)
