"""Gradients of one call beside those of others that are related to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.observe.differentiated import (
    base,
    cotangents,
    differentiable_outputs,
)
from opwright.check.observe.tensors import replace_tensors, tensors_by_place
from opwright.check.row_context import EagerCallError
from opwright.check.rows.gradients.calls import Fault, call_recorded, finding_of
from opwright.check.rows.gradients.kinds import (
    GRAPH,
    LAYOUT,
    LEAF,
    PARTIAL,
    RAISES,
    REPEATED,
    SHARED,
    STALE,
)
from opwright.check.rows.gradients.precision import describe_inequality
from opwright.check.subject import flat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from opwright.check.finding import Finding, Kind
    from opwright.check.observe.differentiated import Gradients, Tensors
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["examine_leaf", "relations"]

PLACES = 6  # tensors among the arguments that are looked at one by one


def relations(
    context: RowContext, sample: Sample, values: Values, places: list[str]
) -> Iterator[Finding | None]:
    """Yield what is wrong with gradients beside each other."""
    subject = context.subject
    full_call = call_recorded(context, sample, values, places)
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
            return finding_of(context, sample, fault, error)
        for place, grad in got.items():
            text = describe_inequality(grad, wanted[place])
            if text is not None:
                return finding_of(
                    context, sample, Fault(kind, place, f"{place!r}: {expected}", text)
                )
        return None

    def again(given: Tensors, chosen: Collection[str] = places) -> Gradients:
        return call_recorded(context, sample, values, chosen).pull(given)

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
            lambda: add([again({name: grads_of[name]}) for name in outputs]),
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
    yield examine_shared(context, sample, values, places)
    yield from examine_stale(context, sample, values, places, full, grads_of)
    yield examine_leaf(context, sample, values, places)
    yield examine_graph(context, sample, values)


def transpose(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with the memory of its transpose."""
    if tensor.ndim < 2:  # noqa: PLR2004 - a matrix
        return torch.stack([tensor, tensor], -1)[..., 0]
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def expand(tensor: torch.Tensor) -> torch.Tensor:
    """Return one number as a gradient, as sum() passes it."""
    return tensor.new_full((), 0.5).expand(tensor.shape)


LAYOUTS = {"a transposed": transpose, "an expanded": expand}


def add(found: list[Gradients]) -> Gradients:
    """Return the sums of gradients."""
    total: Gradients = {}
    for each in found:
        for place, grad in each.items():
            known = total.get(place)
            total[place] = grad if known is None else known if grad is None else known + grad
    return total


def examine_shared(
    context: RowContext, sample: Sample, values: Values, places: list[str]
) -> Finding | None:
    """Pass one tensor for two arguments."""
    subject = context.subject
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
    both = replace_tensors(
        values, [base(other)], lambda at, t: tensors[one].clone() if at == other else t
    )
    apart_call = call_recorded(context, sample, both, [one, other])
    grads_of = cotangents(apart_call.results, differentiable_outputs(subject, apart_call.results))
    parts = apart_call.pull(grads_of)
    wanted = add([{one: parts[one]}, {one: parts[other]}])
    leaf = tensors[one].detach().clone().requires_grad_()
    given = replace_tensors(
        values, list(values), lambda at, t: leaf if at in {one, other} else t.clone()
    )
    context.calls += 1
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
    text = describe_inequality(grad, wanted[one])
    if text is None:
        return None
    expected = f"for one tensor as {one!r} and {other!r}, the sum of both gradients"
    return finding_of(context, sample, Fault(SHARED, one, expected, text))


def examine_stale(
    context: RowContext,
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
            call = call_recorded(context, sample, values, places)
            passed = dict(tensors_by_place(call.values, call.values))
            target = (passed if where == "argument" else call.results)[place]
            if not target.is_floating_point():
                continue
            try:
                with torch.no_grad():
                    target.mul_(0.5).add_(0.125)
                got = call.pull(grads_of)
                context.synchronize()
            except RuntimeError:
                continue  # autograd noticed
            for name, grad in got.items():
                text = describe_inequality(grad, full[name])
                if text is None:
                    continue
                expected = (
                    f"{name!r}: the gradient of the call, or an error, after {where} {place!r} "
                    "was overwritten"
                )
                yield finding_of(context, sample, Fault(STALE, name, expected, text))
                return


def examine_leaf(
    context: RowContext, sample: Sample, values: Values, places: list[str]
) -> Finding | None:
    """Pass a leaf that requires grad where the operator writes."""
    written = {argument.name for argument in context.subject.schema.mutated}
    targets = [place for place in places if base(place) in written]
    if not targets:
        return None
    place = targets[0]
    given = replace_tensors(
        values,
        list(values),
        lambda at, t: t.detach().clone().requires_grad_(at == place),
    )
    context.calls += 1
    try:
        context.subject.call(given)
        context.synchronize()
    except Exception:  # noqa: BLE001 - any error is what must come
        return None
    before, after = (dict(tensors_by_place(each, [base(place)]))[place] for each in (values, given))
    if torch.equal(before, after.detach()):
        return None  # it did not write this one
    expected = f"an error: {place!r} is a leaf that requires grad, and is written"
    fault = Fault(LEAF, place, expected, "no error")
    return finding_of(context, sample, fault)


def examine_graph(context: RowContext, sample: Sample, values: Values) -> Finding | None:
    """Call the operator where nothing requires grad."""
    call = call_recorded(context, sample, values, ())
    for name, result in call.results.items():
        if result.requires_grad or result.grad_fn is not None:
            got = f"{name} with grad_fn={result.grad_fn}"
            fault = Fault(GRAPH, name, "results without a graph", got)
            return finding_of(context, sample, fault)
    return None
