"""The emitted function can be called as any schema says."""

from __future__ import annotations

import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.operator import Declaration, Operator, Source
from opwright.kit.declare.place import Place
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.derive.facts import OperatorFacts, SetFacts
from opwright.kit.emit.options import EmitOptions
from opwright.kit.emit.python.api import emit_api
from opwright.kit.emit.python.stubs import emit_ops_stub
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Schema

OPTIONS = EmitOptions(package="pack", torch=installed_minor())
# Types with defaults that they can have.
TYPES = {
    "Tensor": (),
    "Tensor?": ("None",),
    "Tensor[]": (),
    "Tensor?[]": ("[]",),
    "int": ("0", "-3"),
    "SymInt": ("1",),
    "SymInt[]": ("[]", "[1, 2]"),
    "int[2]": ("1", "[0, 3]"),
    "int[]?": ("None",),
    "float": ("1.0", "1e-06", "-2.5"),
    "float[]": ("[]", "[0.5]"),
    "bool": ("True", "False"),
    "bool?": ("None",),
    "Scalar": ("1", "0.5"),
    "str": ("'a b'", '"it"', "''"),
    "ScalarType?": ("None",),
    "ScalarType": ("long",),
    "Device?": ("None",),
    "Layout?": ("None",),
}
NAMES = (
    "x",
    "self",
    "input",
    "type",
    "dim",
    "out",
    "list",
    "ops",
    "torch",
    "A",
    "l",
    "_y",
    "args",
    "_f",
    "warn_once",
)
RESULTS = ("()", "Tensor", "Tensor[]", "(Tensor, Tensor)", "(Tensor y, int n)")


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    first_keyword = draw(st.integers(0, len(names)))
    parts, defaulted = [], False
    for index, name in enumerate(names):
        if index == first_keyword:
            parts.append("*")
            defaulted = False
        kind = draw(st.sampled_from(sorted(TYPES)))
        if defaulted and not TYPES[kind]:
            kind = "int"
        has_default = bool(TYPES[kind]) and (defaulted or draw(st.booleans()))
        text = f"{kind} {name}"
        if has_default:
            text += f"={draw(st.sampled_from(TYPES[kind]))}"
            defaulted = True
        parts.append(text)
    name = draw(st.sampled_from(["f", "f_", "f.out", "max"]))
    result = draw(st.sampled_from(RESULTS))
    return parse_schema(f"{name}({', '.join(parts)}) -> {result}", where="test")


def facts_of(schema: Schema) -> SetFacts:
    operator = Operator(schema=schema, place=Place("test.py", 1))
    facts = OperatorFacts(
        role="declared",
        operator=operator,
        schema=schema,
        outputs=(),
        checks=(),
        dtypes={},
        call=None,
        python=None,
        prototype=None,
    )
    return SetFacts(
        declaration=Declaration(
            namespace="ns", version="1", place=operator.place, source=Source(name="test.py")
        ),
        operators=(facts,),
    )


class Recorder:
    """Stands for torch.ops.ns: every operator returns how it was called."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a stand-in for anything
        return self

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        return args, kwargs


class Names(types.ModuleType):
    """Stands for torch where a default names a dtype."""

    def __getattr__(self, name: str) -> str:
        return name


def emitted_function(schema: Schema) -> Any:  # noqa: ANN401 - a function that was just made
    """Run the emitted module with stand-ins, and return its function."""
    stand_in = types.ModuleType("pack._ops")
    stand_in.ops = Recorder()  # type: ignore[attr-defined]  # that is the stand-in
    kept = {name: sys.modules.get(name) for name in ("pack", "pack._ops", "torch")}
    sys.modules |= {
        "pack": types.ModuleType("pack"),
        "pack._ops": stand_in,
        "torch": Names("torch"),
    }
    module = types.ModuleType("pack.api")
    try:
        exec(compile(emit_api(facts_of(schema), OPTIONS), "api", "exec"), vars(module))  # noqa: S102 - that is the test
    finally:
        for name, before in kept.items():
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
    (name,) = module.__all__
    return getattr(module, name)


@settings(max_examples=200, deadline=None)
@given(schemas())
def test_the_function_binds_and_passes_on_as_the_schema_says(schema: Schema) -> None:
    function = emitted_function(schema)
    parameters = inspect.signature(function).parameters
    assert list(parameters) == [argument.name for argument in schema.arguments]
    values = {argument.name: f"<{argument.name}>" for argument in schema.arguments}
    positional = [a.name for a in schema.arguments if not a.keyword_only]
    keywords = {a.name: values[a.name] for a in schema.arguments if a.keyword_only}
    given_values = tuple(values[name] for name in positional)
    got = function(*given_values, **keywords)
    if schema.results:
        assert got == (given_values, keywords)
    else:
        assert got is None
    for argument in schema.arguments:
        parameter = parameters[argument.name]
        assert (parameter.kind is parameter.KEYWORD_ONLY) == argument.keyword_only
        if argument.default is None:
            assert parameter.default is parameter.empty
        else:
            want = default_value(argument)
            got = list(parameter.default) if isinstance(want, list) else parameter.default
            assert got == want
            assert type(got) is type(want)


@settings(max_examples=100, deadline=None)
@given(schemas())
def test_the_stub_is_python(schema: Schema) -> None:
    compile(emit_ops_stub(facts_of(schema), OPTIONS), "stub", "exec")
