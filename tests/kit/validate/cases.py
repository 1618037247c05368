"""Declarations with one mistake each, by name; expected.txt has the text of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from opwright.kit.declare import (
    Deprecation,
    OperatorSet,
    broadcast,
    each,
    error,
    like,
    promote,
    sample,
    tensor,
)
from opwright.kit.declare.backward import BackwardCall, BackwardFunction, Formula
from opwright.kit.declare.rules import DtypeSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from opwright.kit.declare.fields import OperatorFields
    from opwright.kit.declare.operator import Autocast, Vmap

RESCALE = "rescale(Tensor x, *, float factor=1.0) -> Tensor"
TRAIN = "drop(Tensor x, float p, bool train) -> (Tensor y, Tensor mask)"
ADD = "add(Tensor x, Tensor y, float alpha=1.0) -> Tensor"


REG_OP = "REG_OP(Add){}.OP_END_FACTORY_REG(Add)"
X, Y = (f".INPUT({name}, TensorType::ALL())" for name in ("x", "y"))
OUT, ALPHA = ".OUTPUT(out, TensorType::ALL())", ".ATTR(alpha, Float, 1.0)"


def one(
    schema: str, reference: Callable[..., object] | None = None, **fields: Unpack[OperatorFields]
) -> OperatorSet:
    """Declare one operator, with a reference or without."""
    ops = OperatorSet("my_ops")
    if reference is None:
        ops.declare(schema, **fields)
    else:
        ops.operator(schema, **fields)(reference)
    return ops


def several(
    *operators: tuple[str, OperatorFields], version: str = "1.0", torch: str | None = None
) -> OperatorSet:
    """Declare several operators without references."""
    ops = OperatorSet("my_ops", version=version, torch=torch)
    for schema, fields in operators:
        ops.declare(schema, **fields)
    return ops


# References and backward functions. Nothing calls them, so numbers stand for tensors.


def gradient_pair(grad: float, x: float) -> tuple[float, float]:
    return grad * x, grad


def scaled_gradient(grad: float, x: float) -> float:
    return grad * x


def gradient_of_one(grad: float) -> float:
    return grad


def swapped(y: float, x: float, alpha: float = 1.0) -> float:
    return x + alpha * y


def other_default(x: float, *, factor: float = 2.0) -> float:
    return x * factor


def extra_default(x: float, *, factor: float = 1.0) -> float:
    return x * factor


def few_arguments(x: float) -> list[object]:
    return [x]


def few_arguments_and_name(x: float, n: str) -> list[object]:
    return [x, n]


def count_up(n: int) -> None:
    n += 1


CASES: dict[str, Callable[[], OperatorSet]] = {
    # defaults
    "OPW-D011 infinite default": lambda: one("f(Tensor x, float low=-inf) -> Tensor"),
    "OPW-D011 None for a type that is not optional": lambda: one(
        "f(Tensor x, int n=None) -> Tensor"
    ),
    "OPW-D011 word of another type": lambda: one("f(Tensor x, ScalarType t=floaty) -> Tensor"),
    "OPW-D011 elements of a list": lambda: one("f(Tensor x, int[2] pad=[1]) -> Tensor"),
    "OPW-D011 list of tensors": lambda: one("f(Tensor x, Tensor[] xs=[]) -> Tensor"),
    "OPW-D011 list without brackets": lambda: one("f(Tensor x, int[] pad=1) -> Tensor"),
    "OPW-D011 reduction that PyTorch cannot read": lambda: one("f(Tensor x, int r=Sum) -> Tensor"),
    "OPW-D011 more than int64": lambda: one("f(Tensor x, int n=9223372036854775808) -> Tensor"),
    "OPW-D011 more than double": lambda: one("f(Tensor x, float n=1e999) -> Tensor"),
    "OPW-D061 type that the dispatcher refuses": lambda: one(
        "f(Tensor x, Dimname n) -> Tensor", few_arguments_and_name, aclnn=False
    ),
    # names
    "OPW-D008 overload name": lambda: one("f.default(Tensor x) -> Tensor"),
    "OPW-D008 argument name": lambda: one("f(Tensor _all_bases) -> Tensor"),
    "OPW-D012 declared operator named as the backward": lambda: several(
        ("f_backward(Tensor grad) -> Tensor", {}),
        ("f(Tensor x) -> Tensor", {"backward": {"x": "2 * f_backward(grad)"}}),
    ),
    "OPW-D012 declared operator named as the twin": lambda: several(
        ("f_(Tensor(a!) x) -> Tensor(a!)", {}), ("f_functional(Tensor x, int n) -> Tensor", {})
    ),
    "OPW-D012 two overloads and a name": lambda: several(
        ("f.scalar(Tensor x) -> Tensor", {}), ("f_scalar(Tensor x) -> Tensor", {})
    ),
    "OPW-D012 two backwards of one name": lambda: several(
        ("f(Tensor x) -> Tensor", {"backward": {"x": "2 * grad"}}),
        (
            "f_(Tensor(a!) x) -> Tensor(a!)",
            {"backward": {"x": "2 * grad"}, "aclnn": "aclnnInplaceF"},
        ),
    ),
    "OPW-D009 functional of what mutates nothing": lambda: one(RESCALE, functional="rescale_new"),
    "OPW-D013 result named as an argument": lambda: one("f(Tensor out) -> Tensor"),
    "OPW-D063 generator that is dropped": lambda: one(
        "drop(Tensor x, float p, Generator? generator=None) -> Tensor",
        aclnn="aclnnDrop(x, p, out)",
    ),
    "OPW-D063 generator without offset": lambda: one(
        "drop(Tensor x, float p, Generator? generator=None) -> Tensor",
        aclnn="aclnnDrop(x, p, generator.seed, out)",
    ),
    "OPW-D062 two overloads of one function": lambda: several(
        ("rescale.tensor(Tensor x, Tensor factor) -> Tensor", {}),
        ("rescale.number(Tensor x, float factor) -> Tensor", {}),
    ),
    "OPW-D062 in place and not": lambda: several(
        ("rescale(Tensor x) -> Tensor", {}), ("rescale_(Tensor(a!) x) -> Tensor(a!)", {})
    ),
    "OPW-D062 two written calls of one function": lambda: several(
        ("f(Tensor x, float p) -> Tensor", {"aclnn": "aclnnRescale(x, float p, out)"}),
        ("g(Tensor x, float p) -> Tensor", {"aclnn": "aclnnRescale(x, p, out)"}),
    ),
    # aliasing
    "OPW-D044 in-place name": lambda: one("f_(Tensor x) -> Tensor"),
    "OPW-D045 view": lambda: one("f(Tensor(a) x) -> Tensor(a)"),
    "OPW-D045 written number": lambda: one("f", count_up, mutates=["n"], aclnn=False),
    "OPW-D046 out= with another result": lambda: one(
        "f.out(Tensor x, *, Tensor(a!) y, Tensor(b!) z) -> (Tensor(b!), Tensor(a!))"
    ),
    "OPW-D047 two results in one set": lambda: one(
        "f_(Tensor(a!) x) -> (Tensor(a!), Tensor(a!))", aclnn="aclnnF(x)"
    ),
    "OPW-D048 mutated argument returned as new": lambda: one("f_(Tensor(a!) x) -> (Tensor x)"),
    # shapes
    "OPW-D003 shape of an unknown value": lambda: one(RESCALE, shapes={"y": like("x")}),
    "OPW-D003 like an unknown tensor": lambda: one(RESCALE, shapes={"out": like("xx")}),
    "OPW-D003 dimension that nothing binds": lambda: one(
        RESCALE, shapes={"x": "*batch, N", "out": "*batch, M"}
    ),
    "OPW-D003 layout of an unknown value": lambda: one(RESCALE, layouts={"z": "contiguous"}),
    "OPW-D003 dimension in a requirement": lambda: one(
        RESCALE, shapes={"x": "*batch, N"}, requires=["M % 8 == 0"]
    ),
    "OPW-D004 size that cannot be read": lambda: one(RESCALE, shapes={"out": "x.shape[0] / 2"}),
    "OPW-D004 truth value as a size": lambda: one(RESCALE, shapes={"out": "True"}),
    "OPW-D004 size beyond int64": lambda: one(RESCALE, shapes={"out": "9223372036854775808"}),
    "OPW-D004 division by 0": lambda: one(RESCALE, shapes={"out": "x.shape[0] // 0"}),
    "OPW-D004 infinite number": lambda: one(RESCALE, requires=["factor < 1e999"]),
    "OPW-D004 infinite value": lambda: one(RESCALE, requires=["factor in (1.0, 1e999)"]),
    "OPW-D004 value beyond int64": lambda: one(
        "f(Tensor x, int n) -> Tensor", requires=["n in (1, 9223372036854775808)"]
    ),
    "OPW-D003 seed of what is no generator": lambda: one(
        "drop(Tensor x, float p, Generator? generator=None) -> Tensor",
        aclnn="aclnnDrop(x, p, x.seed, generator.offset, out)",
    ),
    "OPW-D003 unspecified argument": lambda: one(TRAIN, unspecified={"x": "not train"}),
    "OPW-D003 condition on an unknown argument": lambda: one(
        TRAIN, unspecified={"mask": "not training"}
    ),
    "OPW-D003 condition on a number": lambda: one(TRAIN, unspecified={"mask": "p"}),
    "OPW-D004 condition that cannot be read": lambda: one(TRAIN, unspecified={"mask": "p or 1"}),
    "OPW-D004 deep expression": lambda: one(RESCALE, shapes={"out": "1" + " + 1" * 5000}),
    "OPW-D004 deep parentheses": lambda: one(RESCALE, shapes={"out": "-" * 9000 + "1"}),
    "OPW-D004 tensor of a list as a size": lambda: one(
        "join(Tensor[] xs) -> Tensor", shapes={"out": "xs[0]"}, dtypes={"out": "xs"}
    ),
    "OPW-D003 tensor of a list of optional ones": lambda: one(
        "join(Tensor?[] xs) -> Tensor", shapes={"out": like("xs[0]")}
    ),
    "OPW-D021 dtype of a later tensor of a list": lambda: one(
        "join(Tensor[] xs) -> Tensor", shapes={"out": like("xs[1]")}
    ),
    "OPW-D014 pattern of a list": lambda: one(
        "cat(Tensor[] x, int dim) -> Tensor",
        shapes={"x": "N, D", "out": "dim"},
        dtypes={"out": "float32"},
    ),
    "OPW-D014 rule instead of a pattern": lambda: one(RESCALE, shapes={"x": broadcast("x")}),
    "OPW-D015 no tensor to be like": lambda: one("ramp(int n) -> Tensor", dtypes={"out": "int64"}),
    "OPW-D014 pattern of an element": lambda: one(
        "stack(Tensor[] xs) -> Tensor",
        aclnn="aclnnMyStack(xs, out)",
        shapes={"xs[0]": "N, D", "out": "len(xs)"},
        dtypes={"out": "xs[0]"},
    ),
    "OPW-D015 list of results": lambda: one("parts(Tensor x) -> Tensor[]"),
    "OPW-D015 list of results that may be None": lambda: one(
        "parts(Tensor[] x) -> Tensor?[]", shapes={"out": like("x")}
    ),
    "OPW-D004 list of results without a number": lambda: one(
        "parts(Tensor x) -> Tensor[]", shapes={"out": like("x")}
    ),
    "OPW-D004 number of one result": lambda: one(RESCALE, shapes={"out": each("2", "N")}),
    "OPW-D004 argument that is called as a place": lambda: one(
        "parts(Tensor x, int i) -> Tensor[]", shapes={"x": "N", "out": each("i", "N")}
    ),
    "OPW-D003 place that is no element": lambda: one(
        "parts(Tensor x, int n) -> Tensor[]", shapes={"x": "N", "out": each("n", "N, i")}
    ),
    "OPW-D016 axis beyond the pattern": lambda: one(
        RESCALE, shapes={"x": "B, N", "out": "B, x.shape[2]"}
    ),
    "OPW-D016 size -1": lambda: one(RESCALE, shapes={"out": "-1, 2"}),
    "OPW-D016 element beyond the list": lambda: one(
        "pool(Tensor x, int[2] size) -> Tensor", shapes={"out": "size[0], size[2]"}
    ),
    "OPW-D017 shape function": lambda: one(RESCALE, shapes={"out": few_arguments}),
    "OPW-D018 number as a result": lambda: one("count(Tensor x) -> int"),
    # dtypes
    "OPW-D003 dtype of an unknown value": lambda: one(RESCALE, dtypes={"y": "float32"}),
    "OPW-D003 dtype of an argument that may be None": lambda: one(
        "f(Tensor x, Tensor? y) -> Tensor", dtypes={"out": "y"}
    ),
    "OPW-D003 dtype from what is no dtype": lambda: one(
        "f(Tensor x, int k) -> Tensor", dtypes={"out": "k or x"}
    ),
    "OPW-D005 empty set": lambda: one(RESCALE, dtypes={"x": DtypeSet(())}),
    "OPW-D019 cycle": lambda: one(ADD, dtypes={"x": "y", "y": "x"}),
    "OPW-D020 output with two dtypes": lambda: one(RESCALE, dtypes={"out": "float16 float32"}),
    "OPW-D021 no dtype": lambda: one("ramp(int n) -> Tensor", shapes={"out": "n"}),
    "OPW-D021 like a later tensor of a list": lambda: one(
        "last(Tensor[] xs) -> Tensor[]", shapes={"out": each("2", like("xs[1]"))}
    ),
    "OPW-D022 dtype that may be None": lambda: one(
        "cast(Tensor x, ScalarType? dtype) -> Tensor", dtypes={"out": "dtype"}
    ),
    "OPW-D022 dtype of a place for one result": lambda: one(
        "first(Tensor[] xs) -> Tensor",
        aclnn="aclnnFirst(xs, out)",
        shapes={"out": like("xs[0]")},
        dtypes={"out": "xs[i]"},
    ),
    "OPW-D022 dtype of a number": lambda: one(RESCALE, dtypes={"factor": "float32"}),
    "OPW-D022 promotion of an argument": lambda: one(ADD, dtypes={"x": promote("x", "y")}),
    "OPW-D052 tolerance for another dtype": lambda: one(
        RESCALE, dtypes="float16 float32", tolerances={"bfloat16": (1e-2, 1e-2)}
    ),
    "OPW-D052 tolerance below zero": lambda: one(RESCALE, tolerances={"float16": (-1e-3, 0.0)}),
    # call
    "OPW-D003 parameter": lambda: one(RESCALE, aclnn="aclnnRescale(x, factr, out)"),
    "OPW-D023 output that is not passed": lambda: one(RESCALE, aclnn="aclnnRescale(x, factor)"),
    "OPW-D024 argument that is not passed": lambda: one(RESCALE, aclnn="aclnnRescale(x, out)"),
    "OPW-D025 C type": lambda: one(RESCALE, aclnn="aclnnRescale(x, int64_t factor, out)"),
    "OPW-D025 constant": lambda: one(
        RESCALE, aclnn="aclnnRescale(x, double factor, bool 1.5, out)"
    ),
    "OPW-D025 constant beyond the type": lambda: one(
        RESCALE, aclnn="aclnnRescale(x, double factor, int8_t 128, out)"
    ),
    "OPW-D025 what stands for None beyond int64": lambda: one(
        "f(Tensor x, int? n=None) -> Tensor", aclnn="aclnnF(x, n or 9223372036854775808, out)"
    ),
    "OPW-D025 infinite constant": lambda: one(
        RESCALE, aclnn="aclnnRescale(x, double factor, double 1e999, out)"
    ),
    "OPW-D025 list of SymBool": lambda: one("f(Tensor x, SymBool[] b) -> Tensor"),
    "OPW-D025 type that cannot be passed": lambda: one("f(Tensor x, QScheme n) -> Tensor"),
    "OPW-D025 known function": lambda: one(
        "f(Tensor x, str s) -> Tensor", aclnn="aclnnLeakyRelu(x, s, out)"
    ),
    "OPW-D026 None by value": lambda: one(
        "f(Tensor x, int? dim=None) -> Tensor", aclnn="aclnnF(x, dim, out)"
    ),
    "OPW-D026 dtype that may be None": lambda: one(
        "f(Tensor x, ScalarType? dtype=None) -> Tensor", aclnn="aclnnF(x, dtype, out)"
    ),
    "OPW-D027 count": lambda: one(ADD, aclnn="aclnnAdd(x, y, out)"),
    "OPW-D027 count of a derived call": lambda: one("add(Tensor x, Tensor y) -> Tensor"),
    "OPW-D027 in-place function": lambda: one(
        "add_(Tensor(a!) x, Tensor y, Scalar alpha=1) -> Tensor(a!)"
    ),
    "OPW-D028 double for float": lambda: one(
        "distance(Tensor x, Tensor y, float p, int mode) -> Tensor",
        aclnn="aclnnCdist(x, y, double p, mode, out)",
    ),
    "OPW-D029 order": lambda: one(
        "f(Tensor self, Tensor other, Scalar alpha) -> Tensor",
        aclnn="aclnnAdd(other, self, alpha, out)",
    ),
    "OPW-D030 nothing computes it": lambda: one(RESCALE, aclnn=False),
    # prototype
    "OPW-D031 inputs": lambda: one(ADD, prototype=REG_OP.format(X + OUT + ALPHA)),
    "OPW-D031 attributes": lambda: one(ADD, prototype=REG_OP.format(X + Y + OUT)),
    "OPW-D031 outputs": lambda: one(
        ADD, prototype=REG_OP.format(X + Y + OUT + ".OUTPUT(mask, TensorType::ALL())" + ALPHA)
    ),
    "OPW-D032 order": lambda: one(ADD, prototype=REG_OP.format(Y + X + OUT + ALPHA)),
    "OPW-D033 input that may be None": lambda: one(
        "f(Tensor x, Tensor? y=None, float alpha=1.0) -> Tensor",
        prototype=REG_OP.format(X + Y + OUT + ALPHA),
    ),
    "OPW-D033 list": lambda: one(
        "f(Tensor x, Tensor[] y, float alpha=1.0) -> Tensor",
        prototype=REG_OP.format(X + Y + OUT + ALPHA),
    ),
    "OPW-D033 required attribute": lambda: one(
        "f(Tensor x, Tensor y, float? alpha=None) -> Tensor",
        aclnn="aclnnF(x, y, alpha or 1.0, out)",
        prototype=REG_OP.format(X + Y + OUT + ".REQUIRED_ATTR(alpha, Float)"),
    ),
    "OPW-D034 attribute type": lambda: one(
        ADD, prototype=REG_OP.format(X + Y + OUT + ".ATTR(alpha, Int, 1)")
    ),
    "OPW-D035 attribute name": lambda: one(
        ADD, prototype=REG_OP.format(X + Y + OUT + ".ATTR(scale_value, Float, 1.0)")
    ),
    # backward
    "OPW-D003 saved value": lambda: one(
        RESCALE, backward=BackwardFunction(scaled_gradient, ("xx",))
    ),
    "OPW-D003 name in a formula": lambda: one(RESCALE, backward={"x": "grad * facto"}),
    "OPW-D036 formulas": lambda: one(ADD, backward={"x, y": "grad * alpha"}),
    "OPW-D036 results of the called operator": lambda: several(
        ("add_backward(Tensor grad, Tensor x) -> Tensor", {}),
        (ADD, {"backward": "add_backward(grad, x)"}),
    ),
    "OPW-D036 two formulas for one input": lambda: one(
        ADD, backward=BackwardCall((Formula(("x",), "grad"), Formula(("x",), "grad * alpha")))
    ),
    "OPW-D036 returned values": lambda: one(
        RESCALE, backward=BackwardFunction(gradient_pair, ("x",))
    ),
    "OPW-D037 integer tensor": lambda: one(
        "take(Tensor x, Tensor index) -> Tensor",
        dtypes={"index": "int32 int64"},
        backward=BackwardFunction(gradient_pair, ("x",), ("x", "index")),
        aclnn="aclnnTakeRows",
    ),
    "OPW-D037 integer output": lambda: one(
        RESCALE, dtypes={"out": "int32"}, backward={"x": "grad"}
    ),
    "OPW-D038 formula in C++": lambda: one(RESCALE, backward={"x": "grad ? grad : x"}),
    "OPW-D039 operator that is not in the set": lambda: several(
        ("rescale_backward(Tensor grad) -> Tensor", {}),
        (RESCALE, {"backward": "rescale_backwrd(grad)"}),
    ),
    "OPW-D039 operator that torch does not have": lambda: one(
        RESCALE, backward={"x": "grad * coss(x)"}
    ),
    "OPW-D039 arguments of the called operator": lambda: several(
        ("rescale_backward(Tensor grad, float factor) -> Tensor", {}),
        (RESCALE, {"backward": "rescale_backward(grad)"}),
    ),
    "OPW-D040 parameters": lambda: one(
        RESCALE, backward=BackwardFunction(gradient_of_one, ("x", "factor"))
    ),
    "OPW-D009 no reference to differentiate": lambda: one(RESCALE, backward="reference"),
    "OPW-D041 out=": lambda: one(
        "rescale.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", backward={"x": "x"}
    ),
    # reference
    "OPW-D042 keyword-only argument": lambda: one(RESCALE, few_arguments),
    "OPW-D042 swapped": lambda: one(ADD, swapped),
    "OPW-D043 other default": lambda: one(RESCALE, other_default),
    "OPW-D043 default that the schema has not": lambda: one(
        "rescale(Tensor x, *, float factor) -> Tensor", extra_default
    ),
    # samples
    "OPW-D003 argument of a sample": lambda: one(RESCALE, samples=[sample(x=tensor(2), facto=2.0)]),
    "OPW-D049 sample without an argument": lambda: one(ADD, samples=[sample(x=tensor(2))]),
    "OPW-D050 value of another type": lambda: one(
        RESCALE, samples=[sample(x=tensor(2), factor=tensor(1))]
    ),
    "OPW-D050 dtype": lambda: one(
        RESCALE, dtypes="float16 float32", samples=[sample(x=tensor(2, dtype="float64"))]
    ),
    "OPW-D051 axes": lambda: one(
        RESCALE, shapes={"x": "*batch, N, D"}, samples=[sample(x=tensor(2))]
    ),
    "OPW-D009 error sample without a text": lambda: one(RESCALE, errors=[error("", x=tensor(2))]),
    # metadata
    "OPW-D053 version of the set": lambda: several((RESCALE, {}), version="one"),
    "OPW-D053 range of the set": lambda: several((RESCALE, {}), torch="2.13"),
    "OPW-D053 range of an operator": lambda: one(RESCALE, torch_npu=">2,13"),
    "OPW-D053 deprecated since": lambda: one(RESCALE, deprecated="soon"),
    "OPW-D054 tag": lambda: one(RESCALE, tags=["pointwse"]),
    "OPW-D055 tag that contradicts": lambda: one(RESCALE, tags=["nondeterministic_seeded"]),
    "OPW-D056 replacement": lambda: several(
        (RESCALE, {"deprecated": Deprecation(since="1.0", use="ad")}),
        (ADD, {"aclnn": "aclnnAxpy2"}),
    ),
    "OPW-D056 itself": lambda: one(
        RESCALE, deprecated=Deprecation(since="1.0", use="my_ops::rescale")
    ),
    "OPW-D009 autocast": lambda: one(RESCALE, autocast=cast("Autocast", "fp16")),
    "OPW-D003 axis of a relation": lambda: one(RESCALE, shapes={"x": "N, D"}, relations="batch M"),
    "OPW-D003 linear in a number": lambda: one(RESCALE, relations="linear in factor"),
    "OPW-D003 lengths of other axes": lambda: one(
        "f(Tensor x, Tensor n, Tensor m) -> Tensor",
        shapes={"x": "B, S", "n": "C", "m": "B"},
        dtypes={"n": "int64", "m": "int64"},
        relations="padding of x along S behind n",
    ),
    "OPW-D009 budget": lambda: one(RESCALE, cost_budget=0),
    "OPW-D009 budget that is no number": lambda: one(RESCALE, cost_budget=cast("float", "3")),
    "OPW-D009 vmap": lambda: one(RESCALE, vmap=cast("Vmap", "batch")),
}
