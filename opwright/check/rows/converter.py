"""The converter for TorchAir fits the schema and the prototype.

Read is the function that adds the operator to a graph of GE: the one of the declaration
(`converter=`), or what was registered with torchair.register_fx_node_ge_converter. TorchAir calls
it with the arguments of the schema, those of an operator that writes by their names: it must take
all of them, in their order, and none that the schema does not have; and it must use each of them,
or its value is lost in graphs alone. A call that leaves an argument out leaves it to the
converter's default, which is the schema's, or None. Each node that it makes with `custom_op` or
`ge_op` has a type that is known, with the inputs, attributes, outputs and attribute types of its
prototype (REG_OP), as far as they are literals. What a converter computes is compared when a graph
is compiled. Graphs may have another operator in place of one that writes; then its converter is
read.

A derived converter is made of schema and prototype; the row then looks whether there is one.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
from typing import TYPE_CHECKING, Any

from opwright.aclnn.prototype import PrototypeError
from opwright.check.finding import Kind
from opwright.check.observe.converters import converter_of, find_registered
from opwright.check.observe.graph_forms import find_graph_forms
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.errors import sort_nearest_first
from opwright.graph_engine import lookup
from opwright.graph_engine.prototypes import cann
from opwright.internals.bytecode import find_read_names
from opwright.kit.declare.schema import Base
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.derive.functional import graph_form, has_graph_form
from opwright.kit.emit.options import EmitOptions
from opwright.kit.emit.python.converter_checks import check_node, check_parameters, node_calls
from opwright.kit.emit.python.converters import emit_converters
from opwright.kit.emit.python.errors import ConverterNodeError, ConverterParametersError
from opwright.kit.live import arrival, dispatcher
from opwright.kit.live.converters import TORCHAIR
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.aclnn.prototype import Prototype
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.schema import Schema

__all__ = ["ROW"]

PARAMETERS = Kind(
    "parameters",
    "the converter takes other arguments than the operator",
    "give it the arguments of the schema, in their order, keyword-only ones behind *",
)
IGNORED = Kind(
    "argument-ignored",
    "the converter does not use an argument of the operator",
    "pass it to the node, or raise where it has another value than the node has without it",
)
NODE = Kind(
    "node",
    "a node of the converter does not fit its prototype",
    "use the names and types of the prototype (REG_OP)",
)
UNKNOWN = Kind(
    "unknown-type",
    "the converter makes a node of a type that nobody declares",
    "correct the type, or install the package (or declare the prototype) that has it",
)
NEVER = Kind(
    "never-called",
    "a converter is registered where TorchAir does not look",
    "register it for the overload: torch.ops.my_ops.f.default",
)

DEFAULT = Kind(
    "wrong-default",
    "a default of the converter is another one than the schema's",
    "give the parameter the schema's default: a graph in which the argument is left out uses it",
)

# Arguments that a node cannot take: where and how memory is allocated.
ALLOCATION = {Base.DEVICE, Base.LAYOUT, Base.MEMORY_FORMAT, Base.GENERATOR, Base.SCALAR_TYPE}


def run(context: RowContext) -> None:
    """Read the converter."""
    subject = context.subject
    if subject.is_foreign and arrival.is_awaited(TORCHAIR):
        importlib.import_module(TORCHAIR)  # converters that a declaration has are registered then
    examine_packet(context)
    function, form = converter_of(subject), subject.overload
    if function is None and subject.is_foreign:
        function, form = find_converter_in_graph(context)
    if function is None:
        if context.findings:
            return
        examine_derived(context)
        return
    context.calls += 1  # it is read, not called
    context.details["converter"] = text_of(function)
    examine_parameters(context, function, form)
    examine_defaults(context, function, form)
    examine_use(context, function, form)
    examine_nodes(context, function)


def find_converter_in_graph(context: RowContext) -> tuple[Callable[..., object] | None, Any]:
    """Return the converter of the operator that graphs have in place of this one, and that one."""
    for form in find_graph_forms(context):
        function = find_registered(form)
        if function is not None:
            return function, form
    return None, context.subject.overload


def examine_packet(context: RowContext) -> None:
    """Look for a converter of the packet, which TorchAir never asks for one."""
    subject = context.subject
    name = subject.operator.schema.name
    function = find_registered(dispatcher.packet(subject.namespace, name))
    if function is not None:
        context.calls += 1
        context.report(
            NEVER,
            expected=f"a converter of torch.ops.{subject.namespace}.{name}."
            f"{subject.operator.schema.overload or 'default'}",
            got=f"one of torch.ops.{subject.namespace}.{name}, which holds overloads",
            place=place_of(function),
        )


def examine_derived(context: RowContext) -> None:
    """Look whether a converter is derived.

    Raises
    ------
    NotApplicableError
        There is none, and there need not be one.
    """
    facts = context.subject.facts
    if facts is None or context.subject.is_foreign:
        message = "no converter is registered"
        raise NotApplicableError(message)
    if facts.prototype is None:
        message = "the operator is not for graphs of GE: it has no prototype"
        raise NotApplicableError(message)
    form = graph_form(facts) if has_graph_form(facts) else facts
    operator = dispatcher.overload(context.subject.namespace, form.name)
    registered = find_registered(operator)
    context.calls += 1
    if registered is not None:
        examine_signature(context, registered, form.schema)
        return
    # TorchAir is not imported here: the text is what it would register.
    assert context.subject.of_set is not None
    alone = dataclasses.replace(context.subject.of_set, operators=(facts,))
    text = emit_converters(alone, {}, EmitOptions(package="checked", torch=installed_minor()))
    context.details["converter"] = text
    functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
    wanted = [argument.name for argument in facts.schema.arguments]
    allowed = (wanted, [argument.name for argument in form.schema.arguments])
    for function in functions:
        given = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
        if [name for name in given if name != "meta_outputs"] not in allowed:
            context.report(PARAMETERS, expected=", ".join(wanted), got=", ".join(given))


def place_of(function: Callable[..., object]) -> str | None:
    """Return the line of a function."""
    code = getattr(function, "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def text_of(function: Callable[..., object]) -> str:
    """Return the text of a function, as far as it is known."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return getattr(function, "__name__", repr(function))


def examine_parameters(
    context: RowContext,
    function: Callable[..., object],
    form: Any,  # noqa: ANN401 - torch.ops has no types
) -> None:
    """Compare the parameters with the schema of the operator that graphs have."""
    facts = context.subject.facts
    if form is not context.subject.overload:
        text = str(form._schema).partition("::")[2]  # noqa: SLF001 - it has no public name
        examine_signature(context, function, parse_schema(text, where=context.subject.where))
        return
    if facts is None:
        examine_signature(context, function, context.subject.schema)
        return
    try:
        check_parameters(function, facts, where="")
    except ConverterParametersError as error:
        context.report(
            PARAMETERS,
            expected=", ".join(error.allowed),
            got=error.got,
            place=place_of(function),
        )


def examine_signature(context: RowContext, function: Callable[..., object], schema: Schema) -> None:
    """Compare the parameters with a schema of which nothing else is known."""
    arguments = schema.arguments
    positional = [each.name for each in arguments if not each.keyword_only]
    keywords = {each.name: each.name for each in arguments if each.keyword_only}
    signature = inspect.signature(function)
    if "meta_outputs" in signature.parameters:
        keywords["meta_outputs"] = "meta_outputs"
    wanted = f"({', '.join([*positional, *(['*'] if keywords else []), *keywords])})"
    try:
        bound = signature.bind(*positional, **keywords)
    except TypeError as error:
        got = f"{signature}: {error}"
        context.report(PARAMETERS, expected=wanted, got=got, place=place_of(function))
        return
    other = next((n for n, v in bound.arguments.items() if v != n and v in positional), None)
    if other is not None:
        got = f"{signature}: its {other!r} would be the schema's {bound.arguments[other]!r}"
        context.report(PARAMETERS, expected=wanted, got=got, place=place_of(function))


def examine_defaults(
    context: RowContext,
    function: Callable[..., object],
    form: Any,  # noqa: ANN401 - torch.ops has no types
) -> None:
    """Compare the defaults of the parameters with those of the schema."""
    parameters = inspect.signature(function).parameters
    for argument in form._schema.arguments:  # noqa: SLF001 - it has no public name
        parameter = parameters.get(argument.name)
        if parameter is None or not argument.has_default_value():
            continue
        given, expected = parameter.default, argument.default_value
        if given in (inspect.Parameter.empty, None) or expected is None:
            continue  # the function may decide what None stands for; row compiled compares that
        if not is_same_default(given, expected):
            context.report(
                DEFAULT,
                expected=f"{argument.name}={expected!r}, as in the schema",
                got=f"{argument.name}={given!r}",
                place=place_of(function),
            )
            return


def is_same_default(given: object, expected: object) -> bool:
    """Return whether two defaults are the same; for `int[2]` one number stands for both."""
    if not isinstance(expected, list):
        return given == expected
    numbers = given if isinstance(given, list | tuple) else [given] * len(expected)
    return list(numbers) == expected


def examine_use(
    context: RowContext,
    function: Callable[..., object],
    form: Any,  # noqa: ANN401 - torch.ops has no types
) -> None:
    """Look for parameters that the function never reads."""
    code = getattr(function, "__code__", None)
    if code is None or "locals" in code.co_names:
        return
    read = {*code.co_cellvars, *find_read_names(code)}
    count = code.co_argcount + code.co_kwonlyargcount
    parameters = set(code.co_varnames[:count])
    names = [each.name for each in form._schema.arguments]  # noqa: SLF001 - it has no public name
    for argument, name in zip(context.subject.schema.arguments, names, strict=True):
        if argument.type.base in ALLOCATION or name not in parameters:
            continue
        if name in read:
            continue
        context.report(
            IGNORED,
            expected=f"{argument} in the node, as in eager mode",
            got="a parameter that is never read: a graph computes the same for every value",
            place=place_of(function),
        )
        return


def examine_nodes(context: RowContext, function: Callable[..., object]) -> None:
    """Compare the nodes with their prototypes."""
    try:
        calls = list(node_calls(function))
    except (TypeError, SyntaxError):
        return  # no text, or a lambda within an expression
    for call in calls:
        name = type_of(call)
        if name is None:
            continue
        prototype = prototype_of(context.subject, name)
        line = f"{place_of(function)}"
        if prototype is None:
            known = list(find_nearest(name))
            context.report(
                UNKNOWN,
                expected=f"a type that is known, for example {', '.join(known)}",
                got=repr(name),
                place=line,
            )
            return
        try:
            check_node(call, prototype, where="")
        except ConverterNodeError as error:
            context.report(
                NODE,
                expected=f"{name}: {', '.join(error.allowed)}",
                got=error.got,
                place=line,
            )
            return


def type_of(call: ast.Call) -> str | None:
    """Return the type of a node; None if it is computed."""
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    first = call.args[0] if call.args else given.get("op_type")
    match first:
        case ast.Constant(str() as name):
            return name
    return None


def prototype_of(subject: Subject, name: str) -> Prototype | None:
    """Return the prototype of a type: the declared one, or one that is known here."""
    declared = None if subject.facts is None else subject.facts.prototype
    if declared is not None and declared.op_type == name:
        return declared
    try:
        return lookup.find_prototype(name)
    except PrototypeError:
        return None


def find_nearest(name: str) -> Iterator[str]:
    """Yield known types with a like name."""
    yield from sort_nearest_first(name, cann.texts())[:3]


ROW = Row(
    name="converter",
    title="the converter for TorchAir fits schema and prototype",
    kinds=(PARAMETERS, DEFAULT, IGNORED, NODE, UNKNOWN, NEVER),
    run=run,
)
