"""Gradients are the derivatives of the reference, on the CPU and on the NPU.

Column `reference`: the operator's gradients on the CPU, in double where it takes double, are
compared with differences of the reference function, along random directions and single elements.
Steps are chosen so that references that compute in single precision can be judged too. Where the
differences do not agree on a derivative (a kink, a step), nothing is said; a fault must show at
several points near by. Second derivatives are right, or an error says that there are none.

Column `npu`: the gradients on the NPU are compared with those of the CPU operator in double and in
the same dtype, those of another library's operator with differences of its reference. Then:

* gradients are the same for some inputs or results alone as for all together, for an expanded and
  a transposed gradient of a result, and for a tensor that is passed twice;
* backward twice gives the same, or an error;
* a tensor that is overwritten after the call gives the old gradient or an error;
* a leaf that requires grad is not written;
* without anything that requires grad, results have no graph.

An operator that is declared without a backward must say so when a gradient is asked of it. Of one
that another library registered without an Autograd kernel the row says nothing: torch warns.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.check.bench import EagerCallError, NotApplicableError
from opwright.check.finding import Kind
from opwright.check.observe.differentiated import (
    base,
    call_with_grad,
    cotangents,
    differentiable_inputs,
    differentiable_outputs,
    dot,
    jittered,
    random_like,
    reference_slope,
    widened,
)
from opwright.check.observe.slope import slope
from opwright.check.observe.tensors import on_device, replaced, tensors_by_place
from opwright.check.row import Row
from opwright.check.subject import flat
from opwright.live import dispatcher
from opwright.live.errors import NotDifferentiableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from opwright.check.bench import Bench
    from opwright.check.finding import Finding
    from opwright.check.observe.differentiated import Call, Gradients, Tensors
    from opwright.check.samples import Aspect
    from opwright.check.subject import Subject
    from opwright.declare.sample import Sample
    from opwright.live.arguments import Values

__all__ = ["ROW"]

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

POINTS = 3
# By dtype: how much of the size of the terms a sum of them may be off.
SLACK = {torch.float64: 1e-4, torch.float32: 2e-3, torch.float16: 3e-2, torch.bfloat16: 1e-1}
REFUSING = re.compile(r"backward|differentia|grad|derivative|autograd", re.IGNORECASE)
MOST = 12  # samples
RELATED = 5  # samples of which gradients are compared with each other
PLACES = 6  # tensors among the arguments that are looked at one by one


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the gradient of one input."""

    kind: Kind
    place: str
    expected: str
    got: str


class UnjudgedError(Exception):
    """Nothing can be said of a sample; the text tells why."""


def needs(subject: Subject) -> str | None:
    """Say that there is nothing to differentiate, or to compare with."""
    if subject.reference is None:
        return "the operator has no reference function"
    if not any(argument.type.has_tensors for argument in subject.schema.arguments):
        return "the operator has no tensor arguments"
    if subject.is_seeded:
        return "the operator is random: differences of it are no derivative"
    if subject.schema.is_out_variant and subject.is_foreign:
        return "an operator with out= arguments has no gradients"
    return None


def run(bench: Bench) -> None:
    """Compare gradients."""
    device = "cpu" if bench.column == "reference" else bench.device
    subject = bench.subject
    if device == "cpu" and not subject.runs_on_cpu:
        message = "the operator has no kernel for the CPU"
        raise NotApplicableError(message)
    judged: list[Sample] = []
    faulty: list[Sample] = []
    unjudged: list[str] = []

    def examine(sample: Sample) -> Finding | None:
        if len(judged) >= MOST and not faulty:
            return None
        try:
            if refuses(subject):
                found = examine_refusal(bench, sample, device)
            elif bench.column == "reference":
                found = examine_reference(bench, sample)
            else:
                found = examine_device(bench, sample)
        except UnjudgedError as error:
            unjudged.append(str(error))
            return None
        judged.append(sample)
        if found is not None:
            faulty.append(sample)
        return found

    aspects: set[Aspect] = {"presence", "length", "size"}
    if bench.column == "npu":
        aspects.add("dtype")
    bench.each(examine, vary=aspects, examples=2)
    if not judged and not bench.findings:
        raise NotApplicableError(unjudged[0])


def refuses(subject: Subject) -> bool:
    """Tell whether an operator is declared without a backward."""
    facts = subject.facts
    return (
        facts is not None
        and not subject.is_foreign
        and facts.autograd is None
        and (subject.operator.call is not False or subject.schema.is_out_variant)
    )


def has_autograd(subject: Subject) -> bool:
    """Tell whether somebody said what autograd does for an operator of another library."""
    if not subject.is_foreign or subject.operator.backward is not None:
        return True
    keys = ("Autograd", "AutogradPrivateUse1", "AutogradCPU", "CompositeImplicitAutograd")
    return any(dispatcher.has_kernel(subject.overload, key) for key in keys)


def script(bench: Bench, *last: str) -> tuple[str, ...]:
    """Return lines that print gradients."""
    device = "cpu" if bench.column == "reference" else "npu"
    return (
        f"values = arguments({device!r})",
        "tensors = {n: v for n, v in values.items() if torch.is_tensor(v)}",
        "leaves = {n: v.requires_grad_() for n, v in tensors.items() if v.is_floating_point()}",
        "result = operator(**values)",
        "result = result if torch.is_tensor(result) else result[0]",
        *(last or ("result.sum().backward()", "print({n: v.grad for n, v in leaves.items()})")),
    )


def backward_place(subject: Subject) -> str | None:
    """Return the line of the backward function, if the declaration has one."""
    code = getattr(getattr(subject.operator.backward, "function", None), "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def recorded(bench: Bench, sample: Sample, values: Values, places: Collection[str]) -> Call:
    """Call the operator under autograd."""
    bench.calls += 1
    try:
        call = call_with_grad(bench.subject, values, places)
        bench.synchronize()
    except Exception as error:
        raise EagerCallError(sample, error) from error
    return call


def examine_refusal(bench: Bench, sample: Sample, device: str) -> Finding | None:
    """Ask for a gradient of an operator that has no backward."""
    subject = bench.subject
    values = bench.arguments(sample, device)
    places = list(differentiable_inputs(subject, values))
    if not places:
        message = "no argument is of a floating-point dtype"
        raise UnjudgedError(message)
    expected = "an error that says that the operator has no backward"
    outputs: list[str] | None = None
    grads: Gradients = {}
    try:
        call = recorded(bench, sample, values, places)
        outputs = differentiable_outputs(subject, call.results)
        grads = call.pull(cotangents(call.results, outputs))
        bench.synchronize()
    except Exception as error:  # noqa: BLE001 - any error may say it
        if REFUSING.search(str(error)):
            return None
        got = f"{type(error).__name__}: {error}"
        return bench.finding(REFUSAL, expected=expected, got=got, sample=sample, error=error)
    if not outputs:
        message = "no result is of a floating-point dtype"
        raise UnjudgedError(message)
    given = [place for place, grad in grads.items() if grad is not None]
    got = f"gradients of {', '.join(given)}" if given else "no gradient, and no error"
    return bench.finding(REFUSAL, expected=expected, got=got, sample=sample, script=script(bench))


# The column `reference`.


def examine_reference(bench: Bench, sample: Sample) -> Finding | None:
    """Compare the gradients of the CPU operator with differences of the reference."""
    values = best_precision(bench, sample)
    return confirmed(bench, sample, values, "cpu") or examine_second(bench, sample, values)


def best_precision(bench: Bench, sample: Sample) -> Values:
    """Return arguments in double where the operator takes them, else as in the sample."""
    values = bench.arguments(sample, "cpu")
    wide = widened(values)
    try:
        if bench.subject.rules is not None:
            bench.subject.rules.check(wide)
        bench.calls += 1
        bench.subject.call({**wide, **copies(wide)})
    except Exception:  # noqa: BLE001 - it does not take double, and need not
        return values
    return wide


def copies(values: Values) -> Values:
    """Return the tensors of arguments as copies."""
    return replaced(values, list(values), lambda _, each: each.clone())


def confirmed(bench: Bench, sample: Sample, values: Values, device: str) -> Finding | None:
    """Return a fault that shows at several points near by."""
    known: dict[tuple[str, str], list[Fault]] = {}
    tried = 0
    for point in range(POINTS):
        try:
            faults = list(directional(bench, sample, jittered(values, point), device))
        except UnjudgedError:
            if not point:
                raise
            continue
        except EagerCallError:
            if not point:
                raise
            continue  # a point that is not allowed
        tried += 1
        if not faults and not point:
            return None
        for fault in faults:
            known.setdefault((fault.kind.name, fault.place), []).append(fault)
    for faults in known.values():
        if len(faults) == tried and tried > 1:
            return told(bench, sample, faults[0])
    return None


def told(bench: Bench, sample: Sample, fault: Fault, error: Exception | None = None) -> Finding:
    """Make a finding of a fault."""
    return bench.finding(
        fault.kind,
        expected=fault.expected,
        got=fault.got,
        sample=sample,
        place=backward_place(bench.subject),
        error=error,
        script=script(bench),
    )


def directional(bench: Bench, sample: Sample, values: Values, device: str) -> Iterator[Fault]:
    """Yield what is wrong with gradients at one point, by differences of the reference.

    Raises
    ------
    UnjudgedError
        Nothing was compared.
    """
    subject = bench.subject
    inputs = differentiable_inputs(subject, values)
    if not inputs:
        message = "no argument is of a floating-point dtype"
        raise UnjudgedError(message)
    call = recorded(bench, sample, on_device(values, device), inputs)
    outputs = differentiable_outputs(subject, call.results)
    if not outputs:
        message = "no result is of a floating-point dtype"
        raise UnjudgedError(message)
    grads_of = cotangents(call.results, outputs)
    try:
        grads = call.pull(grads_of)
        bench.synchronize()
    except Exception as error:  # noqa: BLE001 - user code
        pass_on_refusal(subject, error)
        text = f"{type(error).__name__}: {error}"
        for place in inputs:
            yield Fault(RAISES, place, f"a gradient of {place!r}", text)
        return
    if not has_autograd(subject) and all(grad is None for grad in grads.values()):
        message = "the library registers no Autograd kernel for it: torch warns, without gradients"
        raise UnjudgedError(message)
    wide = reference_values(subject, values)
    tensors = differentiable_inputs(subject, wide)
    yield from compared(subject, wide, tensors, grads_of, grads)


def pass_on_refusal(subject: Subject, error: Exception) -> None:
    """Raise if an operator that declares no backward is made of one that has none.

    Raises
    ------
    UnjudgedError
        The error says so, as it should.
    """
    declared = subject.facts is not None and subject.facts.autograd is not None
    if not declared and isinstance(error, NotDifferentiableError):
        message = "it is made of operators without a backward, and the error says so"
        raise UnjudgedError(message) from error


def reference_values(subject: Subject, values: Values) -> Values:
    """Return arguments for the reference: in double, if it takes that."""
    wide = widened(values)
    try:
        with torch.no_grad():
            subject.expected(copies(wide))
    except Exception:  # noqa: BLE001 - user code
        return values
    return wide


def compared(
    subject: Subject, values: Values, tensors: Tensors, grads_of: Tensors, grads: Gradients
) -> Iterator[Fault]:
    """Yield gradients that are not what differences of the reference say."""
    judged = False
    on_cpu = {name: grad.cpu() for name, grad in grads_of.items()}
    for place, tensor in tensors.items():
        for what, direction in directions(tensor, place):
            want = reference_slope(subject, values, on_cpu, place, direction)
            if want is None:
                continue
            judged = True
            grad = grads[place]
            got = 0.0 if grad is None else dot(grad, direction)
            terms = abs(want.value)
            if grad is not None:
                terms = max(terms, dot(grad.abs(), direction.abs()))
            dtype = torch.float32 if grad is None else grad.dtype.to_real()
            slack = SLACK.get(dtype, 1e-2) * terms + 10 * want.error
            if abs(got - want.value) <= slack + 1e-9:
                continue
            missing = grad is None or not bool(grad.any())
            shown = "None" if grad is None else "zero everywhere" if missing else f"{got:.6g}"
            factor = "" if missing or not want.value else f", {got / want.value:.4g} times as much"
            yield Fault(
                SILENT if missing else WRONG,
                place,
                f"{want.value:.6g}, the derivative of the reference by {place!r} {what}",
                f"{shown}{factor}",
            )
            break
    if not judged:
        message = "differences of the reference do not agree on a derivative"
        raise UnjudgedError(message)


def directions(tensor: torch.Tensor, place: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield directions to differentiate along."""
    yield "along a random direction", random_like(tensor, f"direction of {place}")
    for index in dict.fromkeys((0, tensor.numel() // 2, tensor.numel() - 1)):
        if 0 <= index < tensor.numel() > 1:
            one = torch.zeros(tensor.numel(), dtype=tensor.dtype)
            one[index] = 1
            yield f"at element {index}", one.reshape(tensor.shape)


def examine_second(bench: Bench, sample: Sample, values: Values) -> Finding | None:
    """Compare second derivatives with differences of the first ones."""
    subject = bench.subject
    inputs = differentiable_inputs(subject, values)
    if subject.schema.mutated:
        return None

    def first(given: Values, *, create: bool) -> tuple[Call, Gradients]:
        call = recorded(bench, sample, given, inputs)
        outputs = differentiable_outputs(subject, call.results)
        return call, call.pull(cotangents(call.results, outputs), create=create)

    weights = {place: random_like(tensor, f"weight of {place}") for place, tensor in inputs.items()}

    def weighted(grads: Gradients) -> float:
        return sum(dot(weights[p], g) for p, g in grads.items() if g is not None)

    try:
        call, grads = first(values, create=True)
    except Exception:  # noqa: BLE001 - it says that there is no second derivative
        return None
    found = [(place, grad) for place, grad in grads.items() if grad is not None]
    heads = [(place, grad) for place, grad in found if grad.requires_grad]
    seconds: Gradients = dict.fromkeys(inputs)
    if heads:
        try:
            got = torch.autograd.grad(
                [grad for _, grad in heads],
                list(call.leaves.values()),
                [weights[place] for place, _ in heads],
                allow_unused=True,
            )
        except Exception:  # noqa: BLE001 - as above
            return None
        seconds = dict(zip(call.leaves, got, strict=True))
    for place, tensor in inputs.items():
        direction = random_like(tensor, f"second direction of {place}")

        def along(step: float, place: str = place, direction: torch.Tensor = direction) -> float:
            def moved(at: str, each: torch.Tensor) -> torch.Tensor:
                return each + step * direction if at == place else each

            return weighted(first(replaced(values, list(values), moved), create=False)[1])

        want = slope(along)
        if want is None:
            continue
        second = seconds[place]
        value = 0.0 if second is None else dot(second, direction)
        terms = abs(want.value)
        if second is not None:
            terms = max(terms, dot(second.abs(), direction.abs()))
        slack = SLACK.get(tensor.dtype.to_real(), 1e-2) * terms + 10 * want.error + 1e-7
        # Where gradients hardly change, their last digit is all that differences see.
        size = math.hypot(*(norm(weights[p] * g) for p, g in found))
        slack += 4 * torch.finfo(tensor.dtype.to_real()).eps * size / want.step
        if abs(value - want.value) > slack:
            return bench.finding(
                SECOND,
                expected=f"{want.value:.6g}, the derivative of the gradients by {place!r}, or an "
                "error that there is none",
                got="None" if second is None else f"{value:.6g}",
                sample=sample,
                place=backward_place(subject),
                script=script(
                    bench,
                    "first = torch.autograd.grad(result.sum(), list(leaves.values()), "
                    "create_graph=True)",
                    "print([each.requires_grad for each in first])",
                ),
            )
    return None


def norm(tensor: torch.Tensor) -> float:
    """Return the root of the sum of squares."""
    return float(torch.linalg.vector_norm(tensor.detach().to("cpu", torch.complex128)))


# The column `npu`.


def examine_device(bench: Bench, sample: Sample) -> Finding | None:
    """Compare gradients on the device with those on the CPU, and with each other."""
    subject = bench.subject
    values = bench.arguments(sample, "cpu")
    if subject.is_foreign:
        found = None
        if has_autograd(subject):
            given = on_device(values, bench.device)
            found = examine_leaf(bench, sample, given, list(differentiable_inputs(subject, given)))
        found = found or confirmed(bench, sample, values, bench.device)
    else:
        found = examine_against_cpu(bench, sample, values)
    if found is not None or len(bench.ran) > RELATED:
        return found
    given = on_device(values, bench.device)
    places = list(differentiable_inputs(subject, given))
    try:
        return next(filter(None, relations(bench, sample, given, places)), None)
    except EagerCallError:
        raise
    except Exception as error:  # noqa: BLE001 - user code
        fault = Fault(RAISES, "", "gradients", f"{type(error).__name__}: {error}")
        return told(bench, sample, fault, error)


def examine_against_cpu(bench: Bench, sample: Sample, values: Values) -> Finding | None:
    """Compare the gradients on the device with those of the CPU operator."""
    subject = bench.subject
    inputs = differentiable_inputs(subject, values)
    if not inputs:
        message = "no argument is of a floating-point dtype"
        raise UnjudgedError(message)
    call = recorded(bench, sample, on_device(values, bench.device), inputs)
    outputs = differentiable_outputs(subject, call.results)
    if not outputs:
        message = "no result is of a floating-point dtype"
        raise UnjudgedError(message)
    grads_of = cotangents(call.results, outputs)
    try:
        same = cpu_gradients(bench, sample, values, grads_of)
        exact = cpu_gradients(bench, sample, best_precision(bench, sample), grads_of)
        grads = call.pull(grads_of)
        bench.synchronize()
    except Exception as error:  # noqa: BLE001 - user code
        pass_on_refusal(subject, error)
        fault = Fault(RAISES, "", "gradients", f"{type(error).__name__}: {error}")
        return told(bench, sample, fault, error)
    for place in inputs:
        text = apart(grads[place], exact[place], same[place])
        if text is not None:
            got = grads[place]
            missing = got is None or (not bool(got.any()))
            kind = SILENT if missing else DEVICE
            return told(bench, sample, Fault(kind, place, f"{place!r}: as on the CPU", text))
    return None


def cpu_gradients(bench: Bench, sample: Sample, values: Values, grads_of: Tensors) -> Gradients:
    """Return the gradients of the CPU operator."""
    call = recorded(bench, sample, values, differentiable_inputs(bench.subject, values))
    given = {place: grad.cpu().to(call.results[place].dtype) for place, grad in grads_of.items()}
    return call.pull(given)


def apart(
    got: torch.Tensor | None, exact: torch.Tensor | None, same: torch.Tensor | None
) -> str | None:
    """Say how a gradient differs, beyond what the dtype explains; None if it does not."""
    if exact is None or same is None:
        return None if got is None or not bool(got.any()) else "a gradient; the CPU has none"
    if got is None:
        return "None" if bool(exact.any()) else None
    if got.shape != exact.shape:
        return f"shape {list(got.shape)} instead of {list(exact.shape)}"
    wide = torch.complex128 if exact.is_complex() else torch.float64
    a, b, c = got.detach().cpu().to(wide), exact.detach().to(wide), same.detach().to(wide)
    if not a.numel():
        return None
    slack = SLACK.get(got.dtype.to_real(), 1e-2) / 10
    most = slack * b.abs().max() + 1e-6 + 4 * (c - b).abs().max()
    worst = (a - b).abs()
    equal = (a == b) | (a.isnan() & b.isnan()) | ~torch.isfinite(b)
    bad = ~equal & ~(worst <= most)
    if not bool(bad.any()):
        return None
    place = int(bad.reshape(-1).nonzero()[0])
    one, other = a.reshape(-1)[place].item(), b.reshape(-1)[place].item()
    factor = f", {one / other:.4g} times as much" if other else ""
    count = int(bad.sum())
    return f"{one!r} instead of {other!r} at element {place}{factor}; {count} of {a.numel()} differ"


def relations(
    bench: Bench, sample: Sample, values: Values, places: list[str]
) -> Iterator[Finding | None]:
    """Yield what is wrong with gradients beside each other."""
    subject = bench.subject
    full_call = recorded(bench, sample, values, places)
    outputs = differentiable_outputs(subject, full_call.results)
    grads_of = cotangents(full_call.results, outputs)
    full = full_call.pull(grads_of, retain=True)
    if all(grad is None for grad in full.values()):
        return

    def check(
        kind: Kind, expected: str, compute: Callable[[], Gradients], wanted: Gradients
    ) -> Finding | None:
        try:
            got = compute()
        except EagerCallError:
            raise
        except Exception as error:  # noqa: BLE001 - user code
            fault = Fault(RAISES, "", expected, f"{type(error).__name__}: {error}")
            return told(bench, sample, fault, error)
        for place, grad in got.items():
            text = unequal(grad, wanted[place])
            if text is not None:
                return told(bench, sample, Fault(kind, place, f"{place!r}: {expected}", text))
        return None

    def again(given: Tensors, chosen: Collection[str] = places) -> Gradients:
        return recorded(bench, sample, values, chosen).pull(given)

    if not subject.is_declared_nondeterministic:
        yield check(
            REPEATED,
            "the gradient of the first backward through this graph",
            lambda: full_call.pull(grads_of, retain=True),
            full,
        )
    if len(places) > 1:
        for place in places[:PLACES]:
            yield check(
                PARTIAL,
                "the gradient as when all inputs require grad, where it alone does",
                lambda place=place: again(grads_of, [place]),  # type: ignore[misc]
                full,
            )
    if len(outputs) > 1:
        yield check(
            PARTIAL,
            "for all results, the sum of the gradients for each result alone",
            lambda: added([again({name: grads_of[name]}) for name in outputs]),
            full,
        )
    for how, change in LAYOUTS.items():
        laid = {name: change(grad) for name, grad in grads_of.items()}
        plain = {name: grad.contiguous() for name, grad in laid.items()}
        yield check(
            LAYOUT,
            f"for {how} gradient of a result, the same as for a contiguous one",
            lambda laid=laid: again(laid),  # type: ignore[misc]
            again(plain),
        )
    yield examine_shared(bench, sample, values, places)
    yield from examine_stale(bench, sample, values, places, full, grads_of)
    yield examine_leaf(bench, sample, values, places)
    yield examine_graph(bench, sample, values)


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with the memory of its transpose."""
    if tensor.ndim < 2:  # noqa: PLR2004 - a matrix
        return torch.stack([tensor, tensor], -1)[..., 0]
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def expanded(tensor: torch.Tensor) -> torch.Tensor:
    """Return one number as a gradient, as sum() passes it."""
    return tensor.new_full((), 0.5).expand(tensor.shape)


LAYOUTS = {"a transposed": transposed, "an expanded": expanded}


def unequal(got: torch.Tensor | None, want: torch.Tensor | None) -> str | None:
    """Say how two gradients of one device differ; None and zeros are one."""
    if got is None or want is None:
        some = want if got is None else got
        if some is None or not bool(some.any()):
            return None
        return "None" if got is None else "a gradient instead of None"
    return apart(got, want.cpu(), want.cpu())


def added(found: list[Gradients]) -> Gradients:
    """Return the sums of gradients."""
    total: Gradients = {}
    for each in found:
        for place, grad in each.items():
            known = total.get(place)
            total[place] = grad if known is None else known if grad is None else known + grad
    return total


def examine_shared(
    bench: Bench, sample: Sample, values: Values, places: list[str]
) -> Finding | None:
    """Pass one tensor for two arguments."""
    subject = bench.subject
    tensors = dict(tensors_by_place(values, values))
    pairs = [
        (one, other)
        for index, one in enumerate(places)
        for other in places[index + 1 :]
        if tensors[one].shape == tensors[other].shape and tensors[one].dtype is tensors[other].dtype
    ]
    if not pairs or subject.schema.mutated:
        return None
    one, other = pairs[0]
    both = replaced(values, [base(other)], lambda at, t: tensors[one].clone() if at == other else t)
    apart_call = recorded(bench, sample, both, [one, other])
    grads_of = cotangents(apart_call.results, differentiable_outputs(subject, apart_call.results))
    parts = apart_call.pull(grads_of)
    wanted = added([{one: parts[one]}, {one: parts[other]}])
    leaf = tensors[one].detach().clone().requires_grad_()
    given = replaced(values, list(values), lambda at, t: leaf if at in {one, other} else t.clone())
    bench.calls += 1
    results = flat(subject.computed(subject.call(given), given))
    heads = [name for name in grads_of if results[name].requires_grad]
    if not heads:
        return None
    (grad,) = torch.autograd.grad(
        [results[name] for name in heads],
        [leaf],
        [grads_of[name] for name in heads],
        allow_unused=True,
    )
    text = unequal(grad, wanted[one])
    if text is None:
        return None
    expected = f"for one tensor as {one!r} and {other!r}, the sum of both gradients"
    return told(bench, sample, Fault(SHARED, one, expected, text))


def examine_stale(
    bench: Bench,
    sample: Sample,
    values: Values,
    places: list[str],
    full: Gradients,
    grads_of: Tensors,
) -> Iterator[Finding | None]:
    """Overwrite tensors between forward and backward."""
    names = [place for place, _ in tensors_by_place(values, values)][:PLACES]
    for where, chosen in (("argument", names), ("result", list(grads_of))):
        for place in chosen:
            call = recorded(bench, sample, values, places)
            passed = dict(tensors_by_place(call.values, call.values))
            target = (passed if where == "argument" else call.results)[place]
            if not target.is_floating_point():
                continue
            try:
                with torch.no_grad():
                    target.mul_(0.5).add_(0.125)
                got = call.pull(grads_of)
                bench.synchronize()
            except RuntimeError:
                continue  # autograd noticed
            for name, grad in got.items():
                text = unequal(grad, full[name])
                if text is None:
                    continue
                expected = (
                    f"{name!r}: the gradient of the call, or an error, after {where} {place!r} "
                    "was overwritten"
                )
                yield told(bench, sample, Fault(STALE, name, expected, text))
                return


def examine_leaf(bench: Bench, sample: Sample, values: Values, places: list[str]) -> Finding | None:
    """Pass a leaf that requires grad where the operator writes."""
    written = {argument.name for argument in bench.subject.schema.mutated}
    targets = [place for place in places if base(place) in written]
    if not targets:
        return None
    place = targets[0]
    given = replaced(
        values,
        list(values),
        lambda at, t: t.detach().clone().requires_grad_(at == place),
    )
    bench.calls += 1
    try:
        bench.subject.call(given)
        bench.synchronize()
    except Exception:  # noqa: BLE001 - any error is what must come
        return None
    before, after = (dict(tensors_by_place(each, [base(place)]))[place] for each in (values, given))
    if torch.equal(before, after.detach()):
        return None  # it did not write this one
    expected = f"an error: {place!r} is a leaf that requires grad, and is written"
    fault = Fault(LEAF, place, expected, "no error")
    return told(bench, sample, fault)


def examine_graph(bench: Bench, sample: Sample, values: Values) -> Finding | None:
    """Call the operator where nothing requires grad."""
    call = recorded(bench, sample, values, ())
    for name, result in call.results.items():
        if result.requires_grad or result.grad_fn is not None:
            got = f"{name} with grad_fn={result.grad_fn}"
            fault = Fault(GRAPH, name, "results without a graph", got)
            return told(bench, sample, fault)
    return None


ROW = Row(
    name="gradients",
    title="gradients are the derivatives of the reference",
    kinds=(
        *(WRONG, SILENT, RAISES, REFUSAL, SECOND, DEVICE, PARTIAL, LAYOUT),
        *(SHARED, REPEATED, STALE, LEAF, GRAPH),
    ),
    run=run,
    columns=("reference", "npu"),
    needs=needs,
)
