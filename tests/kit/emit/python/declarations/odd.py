"""Operators with names, types and defaults that are unusual, and whose kernels are elsewhere."""

from __future__ import annotations

import opwright as ow

ops = ow.OperatorSet("odd", version="0.3.0.dev1", torch=">=2.13, <2.14")

ops.declare(
    "input(Tensor input, Tensor max, bool all=False, bool any=True, *, str dir='a\\'b') -> Tensor",
    prototype="""
        REG_OP(OddInput)
            .INPUT(input, TensorType({DT_FLOAT}))
            .INPUT(max, TensorType({DT_FLOAT}))
            .OUTPUT(out, TensorType({DT_FLOAT}))
            .ATTR(all, Bool, false)
            .ATTR(any, Bool, true)
            .ATTR(dir, String, "")
            .OP_END_FACTORY_REG(OddInput)
    """,
)
ops.declare(
    "many(Tensor A, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, Tensor g, Tensor h,"
    " Tensor? i=None, Tensor?[] j=[], SymInt[]? k=None, float[2] l=0.5, Scalar? m=None,"
    " bool[3] n=[True, False, True], Scalar[] o=[], float p=inf, int[] q=[1, 2])"
    " -> (Tensor first, Tensor[] rest, Tensor)",
    shapes={"first": "1", "rest": "1", "out2": "1"},
    aclnn="aclnnOddMany(A, first)",
)
ops.declare(
    "made(Tensor like, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,"
    " bool? pin_memory=False, MemoryFormat? memory_format=contiguous_format) -> Tensor",
    dtypes={"out": "dtype or like"},
    aclnn="aclnnOddMade(like, out)",
)
ops.declare(
    "made.strided(Tensor like, ScalarType dtype=float, Layout layout=strided) -> Tensor",
    aclnn="aclnnOddMade(like, out)",
)
ops.declare("made_(Tensor(a!) like) -> Tensor(a!)", aclnn="aclnnOddMade(like, like)")
ops.declare(
    "both_(Tensor(a!) x, Tensor(b!)? y, Tensor z) -> (Tensor(a!), Tensor)",
    aclnn="aclnnOddBoth(x, y, z, out1)",
)
ops.declare(
    "caches_(Tensor(a!)[] caches, Tensor value) -> ()", aclnn="aclnnOddCaches(caches, value)"
)
ops.declare("count(Tensor x) -> int", aclnn="aclnnOddCount(x)", prototype=False)
ops.declare("nothing() -> ()", aclnn="aclnnOddNothing()", prototype=False)
