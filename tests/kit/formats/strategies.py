"""Random schemas and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal as TypingLiteral

from hypothesis import strategies as st

from opwright.aclnn.signature import CType
from opwright.kit.declare.backward import BackwardCall, BackwardReference, Formula
from opwright.kit.declare.call import Actual, Call, DtypeOf, Literal, Named
from opwright.kit.declare.operator import Deprecation, Operator, Upstream
from opwright.kit.declare.place import Place
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    DtypeSet,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
)
from opwright.kit.declare.sample import ErrorSample, Sample, TensorSpec, Tolerance
from opwright.kit.declare.schema_text import parse_schema

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Schema

NAMES = st.sampled_from(["x", "y", "weight", "a_rather_long_name_of_an_argument", "n", "dims"])
TYPES = {
    "Tensor": ["{}"],
    "Tensor?": ["{}=None", "{}"],
    "Tensor[]": ["{}"],
    "Tensor?[]": ["{}"],
    "int": ["{}", "{}=-1"],
    "SymInt": ["{}"],
    "int[2]": ["{}=[1, 1]", "{}=0"],
    "SymInt[]?": ["{}=None"],
    "float": ["{}=1e-05", "{}"],
    "bool": ["{}=False"],
    "str": ["{}='it''s'".replace("''", ""), '{}="BSH"'],
    "Scalar": ["{}=1"],
    "ScalarType?": ["{}=None"],
}
ARGUMENTS = st.sampled_from([f"{kind} {form}" for kind, forms in TYPES.items() for form in forms])
RESULTS = st.sampled_from(
    ["Tensor", "()", "(Tensor, Tensor)", "(Tensor y1, Tensor[] y2)", "Tensor[]"]
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Draw a schema with at least one tensor."""
    name = draw(st.sampled_from(["rescale", "rms_norm", "fused_attention_with_a_long_name"]))
    overload = draw(st.sampled_from(["", ".out", ".Scalar"]))
    names = draw(st.lists(NAMES, unique=True, max_size=6))
    parts = ["Tensor first"] + [draw(ARGUMENTS).format(each) for each in names]
    # Sorting is stable: arguments with defaults come last among those that are passed by place.
    star = draw(st.integers(1, len(parts)))
    parts[:star] = sorted(parts[:star], key=lambda part: "=" in part)
    if star < len(parts):
        parts.insert(star, "*")
    return parse_schema(f"{name}{overload}({', '.join(parts)}) -> {draw(RESULTS)}", where="drawn")


# But for scripts whose width depends on the version of Unicode.
LATIN, CHINESE = (
    st.characters(max_codepoint=0x24F),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5),
)
TEXT = st.text(alphabet=LATIN | CHINESE, max_size=150)
WORDS = st.sampled_from(["x", "first", "weight", "N, D", "ceildiv(N, 2)", "*first.shape[1:], 4"])
SHAPES = st.one_of(
    WORDS.map(Dims),
    st.just(Like("first")),
    st.lists(st.sampled_from(["first", "x", "weight"]), min_size=1).map(
        lambda tensors: BroadcastOf(tuple(tensors))
    ),
    st.builds(
        ReducedOf, st.just("first"), st.none() | st.just("dims"), st.none() | st.just("keepdim")
    ),
    TEXT.map(Cpp),
)
SETS = st.lists(st.sampled_from(["float16", "int8", "bool"]), min_size=1, unique=True).map(
    lambda names: DtypeSet(tuple(names))
)
DTYPES = st.one_of(
    SETS,
    st.just(SameDtype("first")),
    st.just(Promoted(("first", "x"))),
    TEXT.map(Cpp),
    st.builds(DtypeArgument, st.just("dtype"), SETS | st.just(SameDtype("first"))),
    st.just(DtypeArgument("dtype", Promoted(("first", "x")))),
)
LITERALS = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(alphabet=st.characters(codec="ascii", exclude_characters="()[],\x00"), max_size=9),
    st.none(),
).map(Literal)
SOURCES = st.one_of(
    st.sampled_from(["first", "n"]).map(Named),
    st.builds(Named, st.just("n"), LITERALS),
    st.just(DtypeOf("first")),
    LITERALS,
)
ACTUALS = st.builds(Actual, source=SOURCES, ctype=st.none() | st.sampled_from(CType))
CALLS = st.builds(
    Call,
    function=st.sampled_from(["aclnnRescale", "aclnnRmsNorm"]),
    actuals=st.none() | st.lists(ACTUALS, max_size=6).map(tuple),
)
NO_CALL: st.SearchStrategy[TypingLiteral[False]] = st.just(False)  # noqa: FBT003 - a field's value
SPECS = st.builds(
    TensorSpec,
    shape=st.lists(st.integers(0, 99), max_size=3).map(tuple),
    dtype=st.none() | st.just("int32"),
    low=st.none() | st.just(-0.5),
    high=st.none() | st.just(3.0),
    layout=st.sampled_from(["contiguous", "strided"]),
)
VALUES = SPECS | st.floats(allow_nan=False) | st.lists(SPECS, max_size=2).map(tuple) | TEXT
ARGUMENT_VALUES = st.dictionaries(NAMES, VALUES, max_size=3).map(lambda d: tuple(d.items()))
FORMULAS = st.lists(
    st.builds(Formula, st.sampled_from([("first",), ("x", "weight")]), TEXT),
    min_size=1,
    max_size=2,
    unique_by=lambda formula: formula.inputs,
).map(lambda formulas: BackwardCall(tuple(formulas)))


@st.composite
def operators(draw: st.DrawFn) -> Operator:
    """Draw an operator whose fields need not fit together."""
    schema = draw(schemas())
    names = [argument.name for argument in schema.arguments]
    formulas = draw(st.none() | FORMULAS | st.just(BackwardReference()))
    if isinstance(formulas, BackwardCall):
        kept = [f for f in formulas.formulas if set(f.inputs) <= set(names)]
        formulas = BackwardCall(tuple(kept)) if kept else None
    return Operator(
        schema=schema,
        place=Place("drawn"),
        call=draw(st.one_of(st.none(), NO_CALL, CALLS)),
        shapes=draw(st.dictionaries(st.sampled_from(["out", "first"]), SHAPES, max_size=2)),
        dtypes=draw(st.dictionaries(st.sampled_from(["out", "first"]), DTYPES, max_size=2))
        if "dtype" not in names
        else {},
        layouts=draw(st.sampled_from([{}, {"first": "contiguous"}])),
        backward=formulas,
        samples=tuple(map(Sample, draw(st.lists(ARGUMENT_VALUES, max_size=2)))),
        errors=draw(st.sampled_from([(), (ErrorSample((("x", 1),), "may not"),)])),
        tolerances=draw(st.sampled_from([{}, {"float16": Tolerance(1e-3, 1e-5)}])),
        deterministic=draw(st.booleans()),
        tags=draw(st.sampled_from([(), ("core",), ("core", "pointwise")])),
        torch=draw(st.none() | st.just(">=2.6")),
        deprecated=draw(
            st.sampled_from([None, Deprecation(since="1.2"), Deprecation(since="2", use="rescale")])
        ),
        upstream=draw(
            st.none()
            | st.builds(
                Upstream,
                section=st.sampled_from(["official", "custom"]),
                entries=st.dictionaries(st.sampled_from(["acl_op", "exec"]), TEXT).map(
                    lambda entries: tuple(entries.items())
                ),
            )
        ),
    )
