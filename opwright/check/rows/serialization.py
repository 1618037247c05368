"""Results, modules and programs that use the operator can be written to files and read back.

Results are saved with torch.save and read with torch.load, and copied with copy.deepcopy: equal
dtypes, sizes and values must come back, and a file must not hold much more than the tensor (a
result that is a slice of a workspace takes the workspace with it). A module that calls the operator
is deep-copied. The call is traced with torch.jit.trace, and where TorchScript has the types of the
schema it is compiled from source; both are saved, read back and run, and give what eager mode does.
torch.export has a row of its own.
"""

from __future__ import annotations

import copy
import io
import re
import warnings
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.tensors import base, describe, same_bits, tensor_arguments
from opwright.check.observe.tolerance import difference
from opwright.check.row import Row
from opwright.check.subject import flat
from opwright.internals import jit
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.declare.schema import ValueType
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

SAVE = Kind(
    "results-not-saved",
    "a result cannot be saved or copied, or comes back as another one",
    "return plain tensors",
)
WHOLE = Kind(
    "whole-storage-saved",
    "a result is a small part of a storage that is saved with it",
    "allocate the result with its own size and copy, instead of returning a slice of a workspace",
)
MODULE = Kind(
    "module-not-copied",
    "a module that uses the operator cannot be copied",
    "keep nothing on the operator that cannot be copied",
)
SCRIPT = Kind(
    "program-differs",
    "a TorchScript program that calls the operator fails, or gives something else when read back",
    "let the kernel depend on its arguments alone, and the schema say what it takes and writes",
)
SCHEMA = Kind(
    "schema-text",
    "the schema that torch prints is not the schema that was registered",
    "write defaults as literals that are read back to the same value",
)

# TorchScript's words about types that it does not have.
UNSUPPORTED = re.compile(
    "Tracing a list of .* not supported|Tracer cannot|Unknown type name|beforeSets|"
    "unsupported input list type"
)
SLACK = 4096  # bytes that a storage may have more than its tensor: allocators round up
TYPES = {
    Base.TENSOR: "Tensor",
    Base.INT: "int",
    Base.SYMINT: "int",
    Base.FLOAT: "float",
    Base.BOOL: "bool",
    Base.STR: "str",
}


class Calls(torch.nn.Module):
    """A module that calls an operator with the tensors it gets."""

    def __init__(self, operator: Any, values: Values, names: list[str]) -> None:  # noqa: ANN401 - torch.ops has no types
        super().__init__()
        self.operator = operator
        self.values = {name: value for name, value in values.items() if name not in names}
        self.names = names

    def forward(self, *tensors: torch.Tensor) -> Any:  # noqa: ANN401 - what the schema says
        """Call the operator."""
        results = self.operator(**self.values, **dict(zip(self.names, tensors, strict=True)))
        return tensors[0] if results is None else results  # a program must return something


def run(context: RowContext) -> None:
    """Write and read."""
    examine_schema(context)

    def examine(sample: Sample) -> Finding | None:
        values = context.arguments(sample)
        results = flat(context.subject.computed(context.call(values, sample), values))
        return (
            examine_results(context, sample, results)
            or examine_module(context, sample)
            or examine_programs(context, sample, results)
        )

    context.each(examine, vary={"presence", "length", "dtype"}, examples=2)


def examine_schema(context: RowContext) -> None:
    """Read back the schema that torch prints, unless torch cannot read its own text."""
    schema = context.subject.overload._schema  # noqa: SLF001 - it has no public name
    try:
        again = jit.parse_schema(str(schema))
    except RuntimeError:
        return
    if again != schema:
        context.report(SCHEMA, expected=str(schema), got=str(again))


def round_trip(value: Any) -> Any:  # noqa: ANN401 - what torch.save takes
    """Save a value and read it back."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def examine_results(
    context: RowContext, sample: Sample, results: dict[str, torch.Tensor]
) -> Finding | None:
    """Save and copy results."""
    for name, result in results.items():
        plain = result.detach()
        for how, function in (("torch.save", round_trip), ("copy.deepcopy", copy.deepcopy)):
            got: str | None
            error: Exception | None = None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    back = function(plain)
            except Exception as raised:  # noqa: BLE001 - any error is a finding
                got, error = f"{type(raised).__name__}: {raised}", raised
            else:
                got = describe_difference(back, plain)
            if got is not None:
                return context.finding(
                    SAVE,
                    expected=f"{name}, {describe(plain)}, after {how} as it was",
                    got=got,
                    sample=sample,
                    error=error,
                    script=(
                        "import copy",
                        "result = operator(**arguments('npu'))",
                        "assert torch.equal(copy.deepcopy(result), result)",
                        "torch.save(result, 'result.pt')",
                        "assert torch.equal(torch.load('result.pt'), result)",
                    ),
                )
        storage, own = plain.untyped_storage().nbytes(), plain.numel() * plain.element_size()
        if storage > 2 * own + SLACK and not is_view(context.subject, name):
            return context.finding(
                WHOLE,
                expected=f"{name} in a storage of {own} bytes, its {describe(plain)}",
                got=f"a storage of {storage} bytes, which torch.save writes whole",
                sample=sample,
                script=(
                    "result = operator(**arguments('npu'))",
                    "own = result.numel() * result.element_size()",
                    "assert result.untyped_storage().nbytes() <= 2 * own + 4096",
                ),
            )
    return None


def describe_difference(back: torch.Tensor, plain: torch.Tensor) -> str | None:
    """Say how a tensor that was read back differs."""
    if type(back) is not type(plain):
        return f"a {type(back).__name__} instead of a {type(plain).__name__}"
    if back.device.type != plain.device.type:
        return f"a tensor on {back.device}"
    return None if same_bits(back, plain) else f"{describe(back)} with other values"


def is_view(subject: Subject, name: str) -> bool:
    """Return whether a result is an argument or a view of one."""
    item = base(name)
    if subject.schema.argument(item) is not None:
        return True
    names = subject.schema.output_names()
    return item in names and subject.schema.results[names.index(item)].alias is not None


def examine_module(context: RowContext, sample: Sample) -> Finding | None:
    """Copy a module that uses the operator."""
    values = context.arguments(sample)
    names = tensor_arguments(context.subject.schema, values)
    module = Calls(context.subject.overload, values, names)
    try:
        copied = copy.deepcopy(module)
    except Exception as error:  # noqa: BLE001 - any error is a finding
        return context.finding(
            MODULE,
            expected="copy.deepcopy of a module with the operator",
            got=f"{type(error).__name__}: {error}",
            sample=sample,
            error=error,
        )
    assert copied.operator is module.operator
    return None


def examine_programs(
    context: RowContext, sample: Sample, results: dict[str, torch.Tensor]
) -> Finding | None:
    """Trace and compile a call, save the program, read it back and run it."""
    subject = context.subject
    values = context.arguments(sample)
    names = tensor_arguments(subject.schema, values)
    if not names or any(not isinstance(values[name], torch.Tensor) for name in names):
        return None  # a program takes tensors one by one
    ways: dict[str, Callable[[], Any]] = {"torch.jit.trace": lambda: trace(context, sample, names)}
    source = source_of(subject, values)
    if source is not None:
        ways["torch.jit.script"] = lambda: compile_function(source)
    for how, make in ways.items():
        given = context.arguments(sample)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = read_back(make())
                context.calls += 1
                returned = program(*(given[name] for name in names))
            context.synchronize()
            got = flat(subject.computed(returned, given))
        except Exception as error:  # noqa: BLE001 - any error is a finding
            text = f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}"
            if UNSUPPORTED.search(text):
                continue
            return context.finding(
                SCRIPT,
                expected=f"a program of {how} that is saved, read back and run",
                got=text,
                sample=sample,
                error=error,
                script=trace_script(names),
            )
        text_of = describe_unequal_program(subject, got, results)
        if text_of is not None:
            return context.finding(
                SCRIPT,
                expected=f"what eager mode gives, from a program of {how} after torch.jit.save "
                "and torch.jit.load",
                got=text_of,
                sample=sample,
                script=trace_script(names),
            )
    return None


def describe_unequal_program(
    subject: Subject, got: dict[str, torch.Tensor], results: dict[str, torch.Tensor]
) -> str | None:
    """Say how results of a program differ from those of eager mode."""
    loose = subject.is_seeded or subject.is_declared_nondeterministic
    for name, want in results.items():
        if got[name].shape != want.shape or got[name].dtype is not want.dtype:
            return f"{name}: {describe(got[name])} instead of {describe(want)}"
        if not loose:
            text = difference(got[name], want, subject.operator.tolerances)
            if text is not None:
                return f"{name}: {text}"
    return None


def trace(context: RowContext, sample: Sample, names: list[str]) -> Any:  # noqa: ANN401 - TorchScript has no types
    """Trace a call."""
    values = context.arguments(sample)
    module = Calls(context.subject.overload, values, names)
    context.calls += 1
    return torch.jit.trace(  # type: ignore[no-untyped-call]
        module, tuple(values[name] for name in names), check_trace=False, strict=False
    )


def read_back(program: Any) -> Any:  # noqa: ANN401 - TorchScript has no types
    """Save a program and read it back."""
    file = io.BytesIO()
    torch.jit.save(program, file)
    file.seek(0)
    return torch.jit.load(file)  # type: ignore[no-untyped-call]


def type_text(kind: ValueType) -> str | None:
    """Return a type in TorchScript; None if it has none."""
    text = TYPES.get(kind.base)
    if text is None:
        return None
    if kind.optional_elements:
        text = f"Optional[{text}]"
    if kind.is_list:
        text = f"List[{text}]"
    return f"Optional[{text}]" if kind.optional else text


def source_of(subject: Subject, values: Values) -> str | None:
    """Return a function that calls the operator, in TorchScript; None if it has no types for it."""
    parameters: list[str] = []
    arguments: list[str] = []
    for argument in subject.schema.arguments:
        text = type_text(argument.type)
        value = values[argument.name]
        name = f"{argument.name}=" if argument.keyword_only else ""
        if isinstance(value, torch.Tensor):
            parameters.append(f"{argument.name}_: Tensor")
            arguments.append(f"{name}{argument.name}_")
        elif (
            text is None
            or isinstance(value, torch.dtype | torch.device)
            or (argument.type.has_tensors and argument.type.is_list)
        ):
            return None
        else:
            arguments.append(f"{name}{literal(value)}")
    packet, _, overload = subject.operator.name.partition(".")
    call = f"torch.ops.{subject.namespace}.{packet}({', '.join(arguments)})"
    if overload:
        return None  # TorchScript chooses among overloads by itself
    return f"def forward({', '.join(parameters)}):\n    return {call}\n"


def literal(value: object) -> str:
    """Return a value as TorchScript writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN
        return 'float("nan")'
    if isinstance(value, float) and value in {float("inf"), float("-inf")}:
        return f'float("{value}")'
    return repr(value)


def compile_function(source: str) -> Any:  # noqa: ANN401 - TorchScript has no types
    """Compile a function."""
    return torch.jit.CompilationUnit(source).forward


def trace_script(names: list[str]) -> tuple[str, ...]:
    """Return lines that show alone how a program differs."""
    return (
        "one = arguments('npu')",
        f"names = {names!r}",
        "def call(*tensors):",
        "    return operator(**(one | dict(zip(names, tensors))))",
        "tensors = tuple(one[name].clone() for name in names)",
        "program = torch.jit.trace(call, tensors, check_trace=False, strict=False)",
        "torch.jit.save(program, 'program.pt')",
        "got = torch.jit.load('program.pt')(*(one[name].clone() for name in names))",
        "torch.testing.assert_close(got, call(*tensors))",
    )


ROW = Row(
    name="serialization",
    title="results and programs can be saved and read back",
    kinds=(SCHEMA, SAVE, WHOLE, MODULE, SCRIPT),
    run=run,
)
