"""Facts of a declaration: outputs, calls, backward operators, functional twins."""

from __future__ import annotations

import opwright as ow
from opwright.kit.declare.rules import SameDtype
from opwright.kit.derive import OperatorFacts, SetFacts, derive
from opwright.kit.derive.facts import Gradient, SavedArgument, SavedOutput
from opwright.kit.derive.plan import is_native, native_plan
from opwright.kit.expressions.shape import Span


def facts_of(schema: str, **fields: object) -> SetFacts:
    ops = ow.OperatorSet("test_facts")
    ops.declare(schema, **fields)  # type: ignore[arg-type]  # each test gives fields that exist
    return derive(ops.freeze())


def only(schema: str, **fields: object) -> OperatorFacts:
    return facts_of(schema, **fields).operators[0]


def signature(schema: str, **fields: object) -> str:
    call = only(schema, **fields).call
    assert call is not None
    return str(call.signature)


def test_outputs_are_like_the_first_tensor_by_default() -> None:
    facts = only("f(int n, Tensor? bias, Tensor x, Tensor y) -> Tensor")
    (output,) = facts.outputs
    assert (output.name, output.shape, output.dtype) == ("out", (Span("x"),), SameDtype("x"))


def test_a_returned_argument_is_no_new_output() -> None:
    facts = only("f_(Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor)")
    assert [(o.name, o.result, o.argument) for o in facts.outputs] == [
        ("x", 0, "x"),
        ("out1", 1, None),
        ("y", None, "y"),
    ]


def test_an_unknown_function_is_called_as_the_generator_of_cann_declares_it() -> None:
    """Inputs, attributes, outputs; what may be null is Optional, what is written is a Ref."""
    schema = "f(Tensor x, int k, *, Tensor? bias=None, str? mode=None) -> (Tensor y, Tensor z)"
    assert signature(schema) == (
        "aclnnF(const aclTensor *x, const aclTensor *biasOptional, int64_t k, "
        "char *modeOptional, aclTensor *yOut, aclTensor *zOut)"
    )
    assert signature("f_(Tensor(a!) x, float s) -> Tensor(a!)") == (
        "aclnnF(aclTensor *xRef, double s)"
    )
    assert signature("f(Tensor[] xs) -> Tensor", shapes={"out": "1"}, dtypes={"out": "int8"}) == (
        "aclnnF(const aclTensorList *xsOptional, aclTensor *out)"
    )


def test_a_function_of_cann_is_called_in_the_order_of_the_schema_with_its_own_types() -> None:
    schema = "cdist(Tensor x, Tensor y, float p, int mode) -> Tensor"
    assert signature(schema, aclnn="aclnnCdist") == (
        "aclnnCdist(const aclTensor *x, const aclTensor *y, float p, int64_t mode, aclTensor *out)"
    )


def test_a_written_call_is_taken_as_written() -> None:
    schema = "f(Tensor x, float s, int? axis=None) -> Tensor"
    call = "aclnnF(out, float s, axis or -1, x.dtype, x, true, 2, nullptr)"
    assert signature(schema, aclnn=call) == (
        "aclnnF(aclTensor *out, float s, int64_t axis, aclDataType xDtype, const aclTensor *x, "
        "bool constant5, int64_t constant6, const aclTensor *constant7Optional)"
    )


def test_a_generator_is_passed_as_the_seed_and_the_offset_that_are_drawn_from_it() -> None:
    schema = "f(Tensor x, float p, Tensor y, *, Generator? g=None) -> Tensor"
    assert signature(schema) == (
        "aclnnF(const aclTensor *x, const aclTensor *y, double p, int64_t seed, int64_t offset, "
        "aclTensor *out)"
    )
    schema = "fill_(Tensor(a!) x, float mean, float std, *, Generator? g=None) -> Tensor(a!)"
    assert signature(schema, aclnn="aclnnInplaceNormal") == (
        "aclnnInplaceNormal(aclTensor *xRef, float mean, float std, int64_t seed, int64_t offset)"
    )
    facts = only(schema, aclnn="aclnnInplaceNormal")
    assert facts.prototype is None
    assert facts.drawn == ("g",)
    assert "nondeterministic_seeded" in facts.tags


def test_seeds_and_offsets_of_two_generators_have_names_of_their_own() -> None:
    schema = "f(Tensor x, *, Generator? g=None, Generator? other=None) -> Tensor"
    parameters = "int64_t seed, int64_t offset, int64_t otherSeed, int64_t otherOffset"
    assert signature(schema) == f"aclnnF(const aclTensor *x, {parameters}, aclTensor *out)"
    call = "aclnnF(x, g.seed, g.offset, other.seed, other.offset, out)"
    assert signature(schema, aclnn=call) == (
        f"aclnnF(const aclTensor *x, {parameters}, aclTensor *out)"
    )


def test_a_seed_that_is_drawn_is_not_named_like_an_argument() -> None:
    schema = "f(Tensor x, int seed, *, Generator? g=None) -> Tensor"
    assert signature(schema, aclnn="aclnnF(x, seed, g.seed, g.offset, out)") == (
        "aclnnF(const aclTensor *x, int64_t seed, int64_t gSeed, int64_t gOffset, aclTensor *out)"
    )


def test_the_operator_type_is_the_name_of_the_function() -> None:
    facts = only("my_f(Tensor x) -> Tensor", aclnn="aclnnFastGelu")
    assert facts.prototype is not None
    assert facts.prototype.op_type == "FastGelu"


def test_a_call_of_a_declared_operator_is_the_backward_itself() -> None:
    ops = ow.OperatorSet("test_facts")
    ops.declare(
        "my_norm(Tensor x, Tensor g) -> (Tensor y, Tensor rstd)",
        backward="my_norm_grad(grads[0], x, result1, g)",
    )
    ops.declare("my_norm_grad(Tensor dy, Tensor x, Tensor rstd, Tensor g) -> (Tensor, Tensor)")
    facts = derive(ops.freeze())
    assert [each.name for each in facts.operators] == ["my_norm", "my_norm_grad"]
    autograd = facts.operators[0].autograd
    assert autograd is not None
    assert autograd.arguments == (
        Gradient("y"),
        SavedArgument("x"),
        SavedOutput("rstd"),
        SavedArgument("g"),
    )
    assert (autograd.inputs, autograd.outputs) == (("x", "g"), ("y",))


def test_formulas_become_a_backward_operator_that_takes_only_what_they_use() -> None:
    schema = "f(Tensor x, Tensor y, int n, Tensor i) -> Tensor"
    facts = facts_of(
        schema, backward={"x": "grad * y", "y": "grad * result / n"}, dtypes={"i": "int64"}
    )
    backward = facts.operators[1]
    assert str(backward.schema) == (
        "f_backward(Tensor? grad, Tensor y, int n, Tensor out) -> (Tensor, Tensor)"
    )
    assert backward.python is not None
    assert backward.python.formulas == ("grad * y", "grad * out / n")


def test_the_reference_is_differentiated_for_floating_point_inputs() -> None:
    facts = facts_of(
        "f(Tensor x, Tensor[] ys, Tensor i, *, Tensor? m=None) -> Tensor",
        backward="reference",
        dtypes={"i": "int32"},
    )
    assert str(facts.operators[1].schema) == (
        "f_backward(Tensor? grad, Tensor x, Tensor[] ys, Tensor i, Tensor? m) "
        "-> (Tensor, Tensor[], Tensor)"
    )


def test_a_mutating_operator_has_a_functional_twin() -> None:
    facts = facts_of("write_(Tensor(a!) cache, Tensor value, int i) -> (Tensor, Tensor(a!))")
    declared, twin = facts.operators
    assert declared.functional_twin == twin.name == "write_functional"
    assert str(twin.schema) == (
        "write_functional(Tensor cache, Tensor value, int i) -> (Tensor, Tensor)"
    )
    assert twin.clones == ("cache",)
    assert native_plan(twin)["clone"] == [0]


def test_a_declared_functional_twin_is_used() -> None:
    ops = ow.OperatorSet("test_facts")
    ops.declare("rescale_(Tensor(a!) x) -> Tensor(a!)", functional="rescale")
    ops.declare("rescale(Tensor x) -> Tensor")
    facts = derive(ops.freeze())
    assert [each.name for each in facts.operators] == ["rescale_", "rescale"]
    assert facts.operators[0].functional_twin == "rescale"


def test_the_plan_names_arguments_by_place() -> None:
    facts = only(
        "f(Tensor x, int k, ScalarType? dtype=None) -> (Tensor y, Tensor i)",
        shapes={"x": "*b, N", "y": "*b, ceildiv(N, k)", "i": "k"},
        dtypes={"y": "dtype or x", "i": "int64"},
        aclnn="aclnnF(x, k, y.dtype, y, i)",
        layouts={"x": "contiguous"},
    )
    assert is_native(facts)
    assert native_plan(facts) == {
        "function": "aclnnF",
        "outputs": [
            {
                "shape": [("span", 0, 0, -1), ("ceildiv", ("dim", 0, -1), ("arg", 1))],
                "dtype": ("argument", 2, ("like", 0)),
            },
            {"shape": [("arg", 1)], "dtype": ("fixed", "int64")},
        ],
        "parameters": [
            ("aclTensor", ("argument", 0)),
            ("int64_t", ("argument", 1)),
            ("aclDataType", ("output", 0)),
            ("aclTensor", ("output", 0)),
            ("aclTensor", ("output", 1)),
        ],
        "returns": [("output", 0), ("output", 1)],
        "checks": [
            (
                (
                    "rank",
                    0,
                    1,
                    True,
                    ("argument 'x' has ", " axes; it needs at least 1, as in '*b, N'"),
                ),
                [0],
            )
        ],
        "clone": [],
        "contiguous": [0],
    }
