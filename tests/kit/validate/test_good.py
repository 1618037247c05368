"""Right declarations are not reported: one per freedom that an author has."""

from __future__ import annotations

import pytest

from opwright.kit.declare import (
    Deprecation,
    OperatorSet,
    cpp,
    each,
    like,
    promote,
    reduced,
    sample,
    tensor,
)
from opwright.kit.declare.backward import BackwardFunction
from opwright.kit.derive import derive
from opwright.kit.validate import validate
from tests.kit.validate.cases import one, several

PAIR = "f(Tensor x, Tensor y) -> (Tensor, Tensor)"
REG_OP = "REG_OP(F){}.OP_END_FACTORY_REG(F)"


def ports(*names: str, macro: str = "INPUT") -> str:
    return "".join(f".{macro}({name}, TensorType::ALL())" for name in names)


def outputs(*names: str) -> str:
    return ports(*names, macro="OUTPUT")


def one_gradient(grad: float, *saved: float) -> float:
    return grad + len(saved)


def two_gradients(grad: float, x: float, out0: float) -> tuple[float, float]:
    def inner() -> tuple[float, float, float]:  # its returns are not those of the backward
        return x, x, x

    first, *_ = inner()
    return grad * first, grad * out0


def any_return(grad: float, x: float) -> tuple[float, ...]:
    gradients = (grad, x)
    return (*gradients,)


def word_reference(x: float, t: str = "torch.float16", pad: tuple[int, ...] = (0, 0)) -> float:
    return x if t and pad else 0


CASES = {
    # defaults and types
    "defaults": lambda: one(
        "f(Tensor x, int[2] a=0, int[2] b=[], ScalarType t=half, Layout l=strided, "
        "MemoryFormat m=contiguous_format, Device d='cpu', int r=Mean, float p=1, Scalar s=True, "
        "int[]? n=None) -> Tensor",
        aclnn="aclnnF(x, a, b, t, r, p, s, n, out)",
    ),
    "reference with torch's words": lambda: one(
        "f(Tensor x, ScalarType t=half, int[2] pad=0) -> Tensor", word_reference
    ),
    # expressions
    "signs": lambda: one(
        "f(Tensor x, int k, float p) -> Tensor",
        shapes={"x": "N", "out": "N - -k"},
        requires=["-x.ndim <= k", "-k < -(-2)", "p in (-0.5, 1.0)", "p > -1.5"],
    ),
    "dtype of an argument": lambda: one(
        "f(Tensor x, ScalarType dtype) -> (Tensor y, Tensor z)",
        dtypes={"y": "dtype", "z": "dtype or x"},
    ),
    "no axes": lambda: one(
        "f(Tensor x, Tensor y) -> (Tensor, Tensor)", shapes={"y": "()", "out0": (), "out1": "[]"}
    ),
    "lists of results": lambda: one(
        "f(Tensor[] xs, int[] sizes) -> (Tensor[], Tensor[], Tensor[])",
        shapes={
            "out0": like("xs"),
            "out1": each("len(sizes)", "sizes[i], xs[0].ndim"),
            "out2": each("len(xs)", reduced("xs[i]")),
        },
        dtypes={"out1": "xs[0]", "out2": "xs[i]"},
    ),
    "list of results of a function made of others": lambda: one(
        "f(Tensor x) -> Tensor[]", lambda x: [x], aclnn=False
    ),
    "formulas that call torch": lambda: one(
        "f(Tensor x, Tensor y) -> Tensor",
        backward={
            "x": "where(x > y, grad * cos(x), torch.zeros_like(x))",
            "y": "torch.ops.aten.sum(grad) * y.exp()",
        },
    ),
    "relations": lambda: one(
        "f(Tensor x, Tensor lengths, Tensor mask) -> Tensor",
        shapes={"x": "*batch, S, D", "lengths": "S", "mask": "S, D"},
        dtypes={"x": "float16", "lengths": "int32", "mask": "bool"},
        relations=[
            "batch *batch",
            "batch S",
            "linear in x",
            "padding of x along D behind lengths",
            "padding of x where not  mask",
        ],
    ),
    # names
    "declared functional twin": lambda: several(
        ("f_(Tensor(a!) x, *, int n=1) -> Tensor(a!)", {"functional": "f", "aclnn": "aclnnG"}),
        ("f(Tensor x, *, int n=1) -> Tensor", {}),
    ),
    "generator, with a derived call": lambda: one("f(Tensor x, *, Generator? g=None) -> Tensor"),
    "generator of a function of CANN": lambda: one(
        "fill_(Tensor(a!) self, float mean, float std, *, Generator? g=None) -> Tensor(a!)",
        aclnn="aclnnInplaceNormal",
    ),
    "generator, with a written call": lambda: one(
        "f(Tensor x, float p, *, Generator? g=None) -> Tensor",
        aclnn="aclnnF(x, float p, g.seed, uint64_t g.offset, out)",
    ),
    "one function of two operators": lambda: several(
        ("f(Tensor x, Tensor y, int n) -> Tensor", {}),
        ("f.out(Tensor x, Tensor y, int n, *, Tensor(a!) out) -> Tensor(a!)", {}),
        ("g(Tensor x, int n, Tensor y) -> Tensor", {"aclnn": "aclnnF"}),
    ),
    "declared backward, given its keyword-only argument by place": lambda: several(
        ("f_backward(Tensor? grad, Tensor x, *, int n) -> Tensor", {}),
        ("f(Tensor x, int n) -> Tensor", {"backward": "f_backward(grad, x, n)"}),
    ),
    "operators of two underscores": lambda: one("__and__(Tensor x) -> Tensor", upstream={}),
    # aliasing
    "out= that returns nothing": lambda: one("f.out(Tensor x, *, Tensor(a!) out) -> ()"),
    "out= with the rule of an output": lambda: one(
        "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        shapes={"out": like("x")},
        dtypes={"out": promote("x")},
    ),
    "view of an operator made of others": lambda: one(
        "f(Tensor(a) x) -> Tensor(a)", one_gradient, aclnn=False
    ),
    "mutated list": lambda: one("f_(Tensor(a!)[] x, float n) -> ()", aclnn="aclnnF(x, n)"),
    # shapes and dtypes
    "rules in C++": lambda: one(
        "f(int n) -> Tensor", shapes={"out": cpp("{n}")}, dtypes={"out": cpp("at::kFloat")}
    ),
    "negative numbers inside a size": lambda: one(
        "f(Tensor x, int k) -> Tensor", shapes={"x": "N", "out": "N + -1, x.shape[-1] - k"}
    ),
    "any result of an operator made of others": lambda: one(
        "f(Tensor x) -> (Tensor[], int)", one_gradient, aclnn=False
    ),
    # call
    "argument that only shapes use": lambda: one(
        "f(Tensor x, int n, int? dim=None, Device? d=None) -> Tensor",
        aclnn="aclnnF(x, dim or -1, out)",
        shapes={"out": "n"},
    ),
    "known function with its own types": lambda: one(
        "f(Tensor a, Tensor b, Scalar p, int mode) -> Tensor",
        aclnn="aclnnCdist(a, b, p, mode, out)",
    ),
    "null pointers": lambda: one(
        "f(Tensor x, Tensor? y, int[]? n, str? s) -> Tensor",
        aclnn="aclnnF(x, y, n, s, nullptr, out)",
    ),
    # prototype
    "prototype with every presence": lambda: one(
        "f(Tensor x, Tensor? y, Tensor[] z, *, float p=1.0, int[] n, Device? d=None) -> Tensor",
        aclnn="aclnnF(x, y, z, p, n, out)",
        prototype=REG_OP.format(
            ports("x")
            + ports("y", macro="OPTIONAL_INPUT")
            + ports("z", macro="DYNAMIC_INPUT")
            + outputs("out")
            + ".ATTR(p, Float, 1.0).REQUIRED_ATTR(n, ListInt)"
        ),
    ),
    "prototype with a seed beside an argument of this name": lambda: one(
        "f(Tensor x, int seed, Generator? generator=None) -> Tensor",
        prototype=REG_OP.format(
            ports("x")
            + outputs("out")
            + ".REQUIRED_ATTR(seed, Int)"
            + ".REQUIRED_ATTR(generator_seed, Int).REQUIRED_ATTR(generator_offset, Int)"
        ),
    ),
    "prototype of a mutating operator": lambda: one(
        "f_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
        prototype=REG_OP.format(ports("x", "y") + outputs("x")),
    ),
    "prototype with other names of ports": lambda: one(
        "f(Tensor x, Tensor y) -> Tensor", prototype=REG_OP.format(ports("x1", "x2") + outputs("z"))
    ),
    "operator type": lambda: one("f(Tensor x) -> Tensor", prototype="AddCustom"),
    # backward
    "formula with gradients by index": lambda: one(
        PAIR, backward={"x": "grads[0] * y + grad_out1", "y": "grad * result0 + result1"}
    ),
    "formula of several gradients": lambda: one(PAIR, backward={"x, y": "(grad, -grad)"}),
    "formula with functions of torch": lambda: one(
        PAIR, backward={"x": "torch.where(y > 0, grad, 0)", "y": "grad.sum()"}
    ),
    "backward function": lambda: one(
        PAIR, backward=BackwardFunction(two_gradients, ("x", "out0"), outputs=("out1",))
    ),
    "backward function with any return": lambda: one(
        PAIR, backward=BackwardFunction(any_return, ("x",), outputs=("out0",))
    ),
    "backward function with any parameters": lambda: one(
        "f(Tensor x, Tensor index) -> Tensor",
        dtypes={"index": "int64"},
        backward=BackwardFunction(one_gradient, ("index", "out")),
    ),
    # samples and metadata
    "samples": lambda: one(
        "f(Tensor x, Tensor?[] y, int[2] n, ScalarType? t, Scalar s, str m='a') -> Tensor",
        aclnn="aclnnF(x, y, n, out.dtype, s, m, out)",
        dtypes={"x": "float16 int8", "out": "t or x"},
        samples=[
            sample(x=tensor(2, dtype="int8"), y=[tensor(), None], n=3, t="float16", s=1 + 2j),
            sample(x=tensor(), y=[], n=(1, 2), t=None, s=True, m="b"),
        ],
    ),
    "replacement elsewhere": lambda: one(
        "f(Tensor x) -> Tensor", deprecated=Deprecation(since="1.0", use="aten::relu")
    ),
    "not deterministic": lambda: one(
        "f(Tensor x) -> Tensor", tags=["nondeterministic_seeded"], deterministic=False
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_found(name: str) -> None:
    ops: OperatorSet = CASES[name]()
    assert [str(each) for each in validate(ops.freeze())] == []


@pytest.mark.parametrize("name", CASES)
def test_what_is_valid_can_be_derived(name: str) -> None:
    declaration = CASES[name]().freeze()
    names = [facts.name for facts in derive(declaration).operators]
    assert {operator.name for operator in declaration.operators} <= set(names)
    assert len(set(names)) == len(names)
