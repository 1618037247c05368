"""What the operator must refuse is refused alike by the NPU kernel, the CPU kernel and Meta.

The declared error samples, and others that are derived: a sample is changed in one place (another
dtype, an axis more or less, another size, a number or word outside of what `requires` allows, a
list of another length, None for a tensor that is not optional, a tensor on another device), and
where the declared rules do not allow what comes out, the operator must not either.

Each refusal is an exception of a kind that callers expect (ValueError, TypeError, RuntimeError,
IndexError, NotImplementedError) whose text says what is wrong: it names an argument, a dtype, a
size or another property of an argument, and is no failed assertion of the implementation. An error
sample's own words are in it. Nothing is written by a call that is refused, and the next call with
good arguments works as before.

Of an operator that nobody describes only this is asked: None for a tensor that is not optional
does not give a result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from opwright.check.bench import EagerCallError, NotApplicableError
from opwright.check.finding import Kind
from opwright.check.observe.tensors import (
    first_unequal,
    on_device,
    replaced,
    same_bits,
    tensor_arguments,
    tensors_by_place,
)
from opwright.check.observe.tolerance import difference
from opwright.check.row import Row
from opwright.check.samples import described
from opwright.check.subject import flat
from opwright.declare.sample import Sample
from opwright.declare.schema import Base
from opwright.errors import OpwrightError
from opwright.live import dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from opwright.check.bench import Bench
    from opwright.check.finding import Finding
    from opwright.check.subject import Subject
    from opwright.live.arguments import Values

__all__ = ["ROW"]

ACCEPTED = Kind(
    "accepted",
    "the operator accepts arguments that the declaration refuses",
    "check the arguments in the kernel and in Meta (TORCH_CHECK), or allow them in the declaration",
)
MESSAGE = Kind(
    "useless-message",
    "an error does not tell the caller what is wrong",
    "name the operator, the argument, what it got and what it needs: "
    'TORCH_CHECK(x.dim() == 2, "my_ops::f: argument \'x\' has ", x.dim(), " axes; it needs 2")',
)
TYPE = Kind(
    "wrong-exception",
    "an error is of a kind that callers do not expect",
    "raise ValueError, TypeError, RuntimeError, IndexError or NotImplementedError; "
    "in C++, TORCH_CHECK, TORCH_CHECK_VALUE or TORCH_CHECK_TYPE",
)
OTHER = Kind(
    "other-message",
    "the error of an error sample does not have its words",
    "correct the message or the error sample",
)
WRITTEN = Kind(
    "written-before-refusal",
    "a call that raises has written its arguments",
    "check all arguments before the first write",
)
AFTER = Kind(
    "state-after-error",
    "after an error, a call with good arguments does not work as before",
    "let an error leave nothing behind: free what was taken, and take back what was noted",
)

EXPECTED = (ValueError, TypeError, RuntimeError, IndexError, NotImplementedError, OpwrightError)
# Of these kinds are failures of the implementation, not refusals.
FAILURES = (RecursionError,)
INTERNAL = re.compile(
    r"INTERNAL ASSERT|please report a bug|std::(bad_|out_of_range|logic)|vector::|map::at|"
    r"_M_range_check|basic_string|nullptr|segmentation|core dumped",
    re.IGNORECASE,
)
PROPERTIES = re.compile(
    r"\b(dtypes?|types?|shapes?|sizes?|dim(ension)?s?|axis|axes|ranks?|length|elements?|device|"
    r"strides?|layout|contiguous|range|broadcast\w*|index|None|Float|Double|Half|BFloat16|Int|Long|"
    r"Bool|null|required|u?int\d+|b?float\d+|tensors?|value|allowed|supported|not implemented)\b",
    re.IGNORECASE,
)
LARGE = 4096
MOST = 24  # derived error samples of one sample

Good: TypeAlias = "dict[str, torch.Tensor] | None"


@dataclass(frozen=True, slots=True)
class Bad:
    """Arguments that must be refused.

    Parameters
    ----------
    what
        What is wrong with them, as text.
    change
        Makes them of good ones.
    lines
        The same as a script.
    match
        What the error must say; None for anything useful.
    only
        The only column that must refuse them; None for all.
    given
        The attribute that is changed, and its value, if it is one that is.
    """

    what: str
    change: Callable[[Values], Values]
    lines: tuple[str, ...] = ()
    match: str | None = None
    only: str | None = None
    given: tuple[str, Any] | None = None

    def sample(self, good: Sample) -> Sample:
        """Return the sample that the arguments are of, as far as it can be said."""
        if self.given is None:
            return good
        return replace(good, values=tuple(({**dict(good.values), **dict([self.given])}).items()))


def run(bench: Bench) -> None:
    """Call the operator with bad arguments."""
    device = "meta" if bench.column == "meta" else bench.device_of_column()
    if bench.column == "meta" and not has_meta(bench.subject):
        message = "the operator has no Meta function"
        raise NotApplicableError(message)
    tried: list[str] = []

    for bad in declared(bench.subject):
        if not bench.findings:
            examine_declared(bench, device, bad, tried)

    def examine(sample: Sample) -> Finding | None:
        good = good_results(bench, sample, device)
        for bad in derived(bench, sample):
            if bad.only not in {None, bench.column}:
                continue
            found = refuse(bench, sample, device, bad, good)
            tried.append(bad.what)
            if found is not None:
                return found
        return None

    if not bench.findings:
        bench.each(examine, vary={"presence", "length", "rank"}, examples=2)
    bench.details["refused"] = "\n".join(dict.fromkeys(tried))
    if not tried:
        message = "nothing is known that the operator must refuse"
        raise NotApplicableError(message)


def has_meta(subject: Subject) -> bool:
    """Tell whether an operator has a Meta function."""
    return dispatcher.has_kernel(subject.overload, "Meta") or dispatcher.has_fake(
        subject.namespace, subject.operator.name
    )


def declared(subject: Subject) -> Iterator[tuple[Sample, str]]:
    """Yield the declared error samples, with what their errors say."""
    for each in subject.operator.errors:
        yield Sample(each.values), each.match


def examine_declared(bench: Bench, device: str, bad: tuple[Sample, str], tried: list[str]) -> None:
    """Call the operator with an error sample."""
    sample, match = bad
    bench.examine(lambda _: None, sample)
    tried.append(described(sample))
    what = Bad(f"the error sample {described(sample)}", lambda values: values, match=match)
    found = refuse(bench, sample, device, what, None)
    if found is not None:
        bench.findings.append(found)


def derived(bench: Bench, sample: Sample) -> Iterator[Bad]:
    """Yield changes of a sample that the declaration does not allow."""
    subject = bench.subject
    values = bench.arguments(sample, "cpu")
    count = 0
    for bad in changes(subject, values):
        if count == MOST:
            return
        if bad.only is None and not is_refused(subject, bad, bench.arguments(sample, "cpu")):
            continue
        count += 1
        yield bad


def is_refused(subject: Subject, bad: Bad, values: Values) -> bool:
    """Tell whether the declared rules refuse arguments."""
    if bad.what.startswith("None for"):
        return True
    if subject.rules is None:
        return False
    try:
        subject.rules.check(bad.change(values))
    except (TypeError, ValueError):
        return True
    return False


def changes(subject: Subject, values: Values) -> Iterator[Bad]:
    """Yield changes of arguments, good or bad."""
    names = tensor_arguments(subject, values)
    for name in names:
        argument = subject.schema.argument(name)
        assert argument is not None
        if argument.type.is_tensor and not argument.type.optional:
            yield Bad(
                f"None for {name!r}",
                lambda values, name=name: {**values, name: None},  # type: ignore[misc]
                (f"values[{name!r}] = None",),
            )
    for name in names:
        yield from dtype_changes(name)
    for name in names:
        yield from shape_changes(name, values)
    for argument in subject.schema.arguments:
        yield from value_changes(argument.name, argument.type.base, values[argument.name])
    for name in names:
        value = values[name]
        if isinstance(value, list | tuple) and len(value):
            yield Bad(
                f"{name!r} with {len(value) - 1} elements",
                lambda values, name=name: {**values, name: list(values[name])[:-1]},  # type: ignore[misc]
                (f"values[{name!r}] = values[{name!r}][:-1]",),
            )
    if len(names) > 1:
        for name in names:
            if any(each.ndim for _, each in tensors_by_place(values, [name])):
                yield Bad(
                    f"{name!r} on the CPU, the others on the NPU",
                    lambda values, name=name: replaced(values, [name], lambda _, t: t.cpu()),  # type: ignore[misc]
                    (f"values[{name!r}] = values[{name!r}].cpu()",),
                    only="npu",
                )


def dtype_changes(name: str) -> Iterator[Bad]:
    """Yield changes of a tensor's dtype."""
    for dtype in (torch.int32, torch.float32, torch.bool, torch.complex64):
        yield Bad(
            f"{name!r} of {dtype}",
            lambda values, name=name, dtype=dtype: replaced(
                values, [name], lambda _, t: t.to(dtype)
            ),  # type: ignore[misc]
            (f"values[{name!r}] = values[{name!r}].to({dtype})",),
        )


def shape_changes(name: str, values: Values) -> Iterator[Bad]:
    """Yield changes of a tensor's axes and sizes."""
    value = next(each for _, each in tensors_by_place(values, [name]))

    def of(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Values], Values]:
        return lambda values: replaced(values, [name], lambda _, t: change(t))

    yield Bad(
        f"{name!r} with an axis more",
        of(lambda t: t[None]),
        (f"values[{name!r}] = values[{name!r}][None]",),
    )
    if value.ndim and value.shape[0]:
        yield Bad(
            f"{name!r} with an axis less",
            of(lambda t: t[0].clone() if t.ndim else t),
            (f"values[{name!r}] = values[{name!r}][0]",),
        )
    for axis in range(value.ndim):
        yield Bad(
            f"{name!r} with axis {axis} longer by one",
            of(lambda t, axis=axis: longer(t, axis)),  # type: ignore[misc]
            (
                f"one = values[{name!r}]",
                f"values[{name!r}] = torch.cat([one, one[{':, ' * axis}:1]], {axis})",
            ),
        )


def longer(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """Return a tensor with one element more along an axis."""
    if axis >= tensor.ndim:
        return tensor
    shape = list(tensor.shape)
    shape[axis] += 1
    whole = tensor.new_zeros(shape)
    whole.narrow(axis, 0, tensor.shape[axis]).copy_(tensor)
    return whole


def value_changes(name: str, base: Base, value: object) -> Iterator[Bad]:
    """Yield other values of an attribute."""
    others: list[Any] = []
    if base in {Base.INT, Base.SYMINT} and isinstance(value, int):
        # A kernel that accepts one may take it for a size or a count: it must not fill the memory.
        others = [-1, 0, value + 1, max(value + 2, LARGE)]
    elif base is Base.FLOAT and isinstance(value, int | float):
        others = [-1.0, 0.0, 2.0]
    elif base is Base.STR and isinstance(value, str):
        others = ["no_such_word"]
    for other in others:
        yield Bad(
            f"{name}={other!r}",
            lambda values, other=other: {**values, name: other},  # type: ignore[misc]
            (f"values[{name!r}] = {other!r}",),
            given=(name, other),
        )


def refuse(bench: Bench, sample: Sample, device: str, bad: Bad, good: Good) -> Finding | None:
    """Call the operator with bad arguments and look at what comes."""
    subject = bench.subject
    values = bad.change(arguments(bench, sample, device))
    bench.watch(bad.sample(sample))  # a crash or hang shows what was called
    written = [argument.name for argument in subject.schema.mutated]
    before = {
        place: each.clone()
        for place, each in tensors_by_place(values, written)
        if each.device.type != "meta"
    }
    where = {"npu": "the NPU kernel", "cpu": "the CPU kernel", "meta": "Meta"}[bench.column]
    lines = (
        f"values = arguments({device!r})",
        *bad.lines,
        "try:",
        "    operator(**values)",
        *(["    torch.npu.synchronize()"] if bench.column == "npu" else []),
    )
    try:
        returned = call(bench, values, device)
    except Exception as error:  # noqa: BLE001 - any error is looked at
        after = dict(tensors_by_place(values, written))
        return examine_error(bench, sample, bad, error, where, lines) or examine_after(
            bench, sample, device, bad, before, after, good
        )
    if is_right_all_the_same(bench, sample, device, bad, returned, values):
        return None
    return bench.finding(
        ACCEPTED,
        expected=f"an error for {bad.what}",
        got=f"{where} returns {texts(returned)}",
        sample=sample,
        script=(
            *lines,
            "except Exception:",
            "    pass",
            "else:",
            "    raise AssertionError('accepted')",
        ),
    )


def arguments(bench: Bench, sample: Sample, device: str) -> Values:
    """Return fresh arguments; those of Meta are fake tensors' cousins without data."""
    values = bench.arguments(sample, "cpu" if device == "meta" else device)
    return on_device(values, "meta") if device == "meta" else values


def call(bench: Bench, values: Values, device: str) -> object:
    """Call the operator and wait for the device."""
    bench.calls += 1
    if device == "meta" and not dispatcher.has_kernel(bench.subject.overload, "Meta"):
        with FakeTensorMode(allow_non_fake_inputs=True):
            return bench.subject.call(values)
    returned = bench.subject.call(values)
    bench.synchronize()
    return returned


def is_right_all_the_same(
    bench: Bench, sample: Sample, device: str, bad: Bad, returned: object, values: Values
) -> bool:
    """Tell whether results are right although the arguments need not be accepted.

    A kernel may read a tensor from host memory, or not need it for these attributes; an operator of
    another library may take more than its description says.
    """
    subject = bench.subject
    lenient = subject.is_foreign or bad.only is not None or bad.what.startswith("None for")
    if not lenient or bad.match is not None:
        return False
    if subject.reference is None or subject.is_seeded:
        return True
    if subject.is_foreign and device == "meta":
        return True  # its Meta need not know what only our description says
    got = flat(subject.computed(returned, values))
    givens = [bad.change(bench.arguments(sample, "cpu"))]
    if bad.only is not None or bad.what.startswith("None for"):
        givens.append(bench.arguments(sample, "cpu"))
    for given in givens:
        try:
            want = flat(subject.expected(given))
        except Exception:  # noqa: BLE001, S112 - the reference refuses them
            continue
        if want.keys() <= got.keys() and all(
            is_alike(got[name], each, device, subject) for name, each in want.items()
        ):
            return True
    return False


def is_alike(got: torch.Tensor, want: torch.Tensor, device: str, subject: Subject) -> bool:
    """Tell whether a result is as expected; of Meta, as far as it can be."""
    if device == "meta":
        return got.shape == want.shape and got.dtype == want.dtype
    return difference(got, want, subject.operator.tolerances) is None


def texts(returned: object) -> str:
    """Describe results."""
    if isinstance(returned, torch.Tensor):
        return f"a tensor {str(returned.dtype).removeprefix('torch.')} {list(returned.shape)}"
    if isinstance(returned, tuple | list):
        return ", ".join(map(texts, returned)) or "nothing"
    return "nothing" if returned is None else type(returned).__name__


def examine_error(
    bench: Bench,
    sample: Sample,
    bad: Bad,
    error: BaseException,
    where: str,
    lines: tuple[str, ...],
) -> Finding | None:
    """Look at an error: its kind, and what it says."""
    text = str(error).strip()
    shown = f"{where} raises {type(error).__name__}: {text}"
    foreign = bench.subject.is_foreign
    in_python = foreign or bench.subject.operator.call is False
    if in_python and bad.what.startswith("None for"):
        return None  # Python's own error for None will do
    if foreign and bench.column == "meta" and bad.match is None:
        return None  # its Meta does not know of our description
    if not isinstance(error, EXPECTED) or isinstance(error, FAILURES):
        return bench.finding(
            TYPE,
            expected=f"ValueError, TypeError or RuntimeError for {bad.what}",
            got=shown,
            sample=sample,
            error=error,
            script=(
                *lines,
                "except (ValueError, TypeError, RuntimeError, IndexError) as error:",
                "    assert not isinstance(error, RecursionError)",
                "except Exception as error:",
                "    raise AssertionError(repr(error)) from error",
            ),
        )
    if bad.match is not None and bad.match not in text:
        return bench.finding(
            OTHER,
            expected=f"an error that says {bad.match!r}",
            got=shown,
            sample=sample,
            error=error,
            script=(
                *lines,
                "except Exception as error:",
                f"    assert {bad.match!r} in str(error), error",
            ),
        )
    if bad.match is None and not is_useful(bench.subject, text):
        return bench.finding(
            MESSAGE,
            expected=f"an error that tells what is wrong: {bad.what}",
            got=shown,
            sample=sample,
            error=error,
            script=(*lines, "except Exception as error:", "    raise AssertionError(str(error))"),
        )
    return None


def is_useful(subject: Subject, text: str) -> bool:
    """Tell whether a message names an argument or one of its properties, or quotes a rule."""
    if INTERNAL.search(text):
        return False
    if any(f"'{rule}'" in text for rule in subject.operator.requires):
        return True
    names = {argument.name for argument in subject.schema.arguments}
    words = set(re.findall(r"\w+", text))
    return bool(words & names) or PROPERTIES.search(text) is not None


def examine_after(
    bench: Bench,
    sample: Sample,
    device: str,
    bad: Bad,
    before: Mapping[str, torch.Tensor],
    after: Mapping[str, torch.Tensor],
    good: Good,
) -> Finding | None:
    """Look at what a refused call left: written arguments, and whether the next call works."""
    # Python meets None where it uses it; nobody could check that before.
    lenient = bad.what.startswith("None for") and bench.subject.is_foreign
    for place, each in before.items():
        if not lenient and place in after and not same_bits(each, after[place]):
            return bench.finding(
                WRITTEN,
                expected=f"{place!r} as it was before a call that is refused, for {bad.what}",
                got="other values",
                sample=sample,
            )
    if good is None:
        return None
    expected = "the results of a good call, as before"
    try:
        now = good_results(bench, sample, device)
    except EagerCallError as error:
        got = f"after a call with {bad.what}: {error}"
        return bench.finding(AFTER, expected=expected, got=got, sample=sample, error=error.error)
    unequal = None
    loose = bench.subject.is_seeded or bench.subject.is_declared_nondeterministic
    if now is not None and not loose:
        unequal = first_unequal(good, now)
    if unequal is None:
        return None
    got = f"after a call with {bad.what}, {unequal[0]}: {unequal[1]}"
    return bench.finding(AFTER, expected=expected, got=got, sample=sample)


def good_results(bench: Bench, sample: Sample, device: str) -> Good:
    """Call the operator with good arguments; None for Meta, which has no values."""
    if device == "meta":
        return None
    return flat(bench.run(sample, device))


ROW = Row(
    name="errors",
    title="what must be refused is refused, and the caller is told why",
    kinds=(ACCEPTED, MESSAGE, TYPE, OTHER, WRITTEN, AFTER),
    run=run,
    columns=("npu", "cpu", "meta"),
)
