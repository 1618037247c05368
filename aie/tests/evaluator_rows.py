"""The evaluators of reference section 8.5: what is known when the network is built.

Lines before the last are statements; the last line is the result.
"""

from __future__ import annotations

from typing import Final

from aie.tests.operator_rows import Row

# Types that TorchScript does not look through.
OPTIONAL: Final = "y = torch.jit.annotate(list[Optional[torch.Tensor]], [x, None])[0]"
PAIR: Final = "t = [(x + 1, x * 2)][0]"

CONTAINERS: Final = [
    Row("prim::ListConstruct", "torch.cat([x, x], 1)"),
    Row("prim::ListUnpack", "a, b, c = torch.unbind(x, 1)\na + b - c"),
    Row("prim::TupleConstruct", "x * 2, x + 1"),
    Row("prim::TupleUnpack", f"{PAIR}\na, b = t\na * b"),
    Row("prim::TupleIndex", f"{PAIR}\nt[1]"),
    Row("aten::__getitem__.t", "[x, x * 2][-1]"),
    Row("aten::__getitem__.t", "x * x.size()[1]"),
    Row("aten::__getitem__.t", "torch.split(x, [1, 2], 1)[1]"),
    Row("aten::slice.t", "x.reshape(x.shape[:1] + [-1])"),
    Row("aten::slice.t", "torch.cat(torch.unbind(x, 1)[::2])"),
    Row("aten::add.t", "torch.stack([x] + [x * 2])"),
    Row("aten::append.t", "l = [x]\nl.append(x * 2)\ntorch.stack(l)"),
    Row("aten::extend.t", "l = [x]\nl.extend([x * 2, x])\ntorch.stack(l)"),
    Row("aten::add_.t", "l = [x]\nl += [x * 2]\ntorch.stack(l)"),
    Row("aten::list.t", "torch.stack(list([x, x * 2]))"),
    Row("aten::len.t", "x * len([x, x])"),
    Row("aten::len.Tensor", "x * len(x)"),
    Row("prim::unchecked_cast", f"{OPTIONAL}\nz = x\nif y is not None:\n    z = y * 2\nz"),
    Row("aten::__isnot__", f"{OPTIONAL}\nx * int(y is not None)"),
    Row("aten::__is__", f"{OPTIONAL}\nx * int(y is None)"),
    Row("aten::__contains__.int_list", "x * int(x.size(0) in [2, 5])"),
    Row("prim::RaiseException", "if x.size(0) > 7:\n    raise ValueError('large')\nx * 2"),
    Row("prim::If", "if x.size(0) > 1:\n    x = x * 2\nx + 1"),
    Row("prim::Loop", "for i in range(x.size(1)):\n    x = x + i\nx"),
    Row("aten::__range_length", "for i in range(1, x.size(2), 2):\n    x = x + i\nx"),
    Row("aten::__derive_index", "for i in range(1, x.size(2), 2):\n    x = x + i\nx"),
    Row("aten::format", "x * int('{}'.format(x.size(0)) == '2')"),
]

PROPERTIES: Final = [
    Row("aten::size", "x.reshape(x.size()) * 2"),
    Row("aten::size.int", "x.reshape(x.size(0), -1)"),
    Row("aten::dim", "x * x.dim()"),
    Row("aten::numel", "x * x.numel()"),
    Row("aten::is_floating_point", "x * int(x.is_floating_point())"),
    Row("prim::dtype", "(x * 2).to(x.dtype)"),
    Row("prim::device", "torch.ones(4, device=x.device) + x"),
    Row("prim::layout", "torch.ones(4, layout=x.layout) + x"),
    Row("prim::NumToTensor", "x.reshape(x.size(0) * x.size(1), -1)", traced=True),
    Row("aten::Int", "x.reshape(x.size(0) * x.size(1), -1)", traced=True),
    Row("aten::Int.Tensor", "x * int(torch.tensor(3))"),
    Row("aten::Float.Tensor", "x * float(torch.tensor(3))"),
    Row("aten::Bool.Tensor", "x * int(bool(torch.tensor(3)))"),
]

_N: Final = "x.size(0)"  # an integer, 2
_F: Final = "(x.size(0) + 0.5)"

COMPARISONS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

ARITHMETIC: Final = [
    Row("aten::add.int", f"x * ({_N} + 3)"),
    Row("aten::sub.int", f"x * ({_N} - 3)"),
    Row("aten::mul.int", f"x * ({_N} * 3)"),
    Row("aten::div.int", f"x * ({_N} / 3)"),
    Row("aten::floordiv.int", f"x * ({_N} // -3)"),
    Row("aten::remainder.int", f"x * ({_N} % 5)"),
    Row("aten::neg.int", f"x * -{_N}"),
    Row("aten::pow.int", f"x * {_N} ** 3"),
    Row("aten::add.int_float", f"x * {_F}"),
    Row("aten::add.float", f"x * ({_F} + 1.5)"),
    Row("aten::sub.float", f"x * ({_F} - 1.5)"),
    Row("aten::mul.float", f"x * ({_F} * 1.5)"),
    Row("aten::div.float", f"x * ({_F} / 1.5)"),
    Row("aten::floordiv.float", f"x * ({_F} // 1.5)"),
    Row("aten::pow.float", f"x * {_F} ** 1.5"),
    Row("aten::pow.float_int", f"x * {_F} ** 2"),
    Row("aten::pow.int_float", f"x * {_N} ** 1.5"),
    Row("aten::floor.float", f"x * math.floor({_F})"),
    Row("aten::floor.int", f"x * math.floor({_N})"),
    Row("aten::ceil.float", f"x * math.ceil({_F})"),
    Row("aten::sqrt.float", f"x * math.sqrt({_F})"),
    Row("aten::sqrt.int", f"x * math.sqrt({_N})"),
    Row("aten::Int.float", f"x * int({_F})"),
    Row("aten::Int.bool", f"x * int({_N} > 1)"),
    Row("aten::Float.Scalar", f"x * float({_N})"),
    Row("aten::Float.bool", f"x * float({_N} > 1)"),
    Row("aten::Bool.int", f"x * int(bool({_N}))"),
    Row("aten::Bool.float", f"x * int(bool({_F}))"),
    Row("aten::__and__.int", f"x * ({_N} & 3)"),
    Row("aten::__or__.int", f"x * ({_N} | 1)"),
    Row("aten::__xor__.int", f"x * ({_N} ^ 3)"),
    Row("aten::__not__", f"x * int(not ({_N} > 1))"),
    Row("aten::add.str", f"x * int('a' + '{{}}'.format({_N}) == 'a2')"),
    Row("aten::eq.str", f"x * int('{{}}'.format({_N}) == '2')"),
    Row("aten::ne.str", f"x * int('{{}}'.format({_N}) != '2')"),
    *(
        Row(f"aten::{name}.{kind}", f"x * int({left} {sign} {right})")
        for name, sign in COMPARISONS.items()
        for kind, left, right in (
            ("int", _N, 2),
            ("float", _F, 2.5),
            ("int_float", _N, 2.5),
            ("float_int", _F, 2),
        )
    ),
    Row("prim::max.int", f"x * max({_N}, 3)"),
    Row("prim::min.int", f"x * min({_N}, 3)"),
    Row("prim::max.float", f"x * max({_F}, 3.5)"),
    Row("prim::min.float", f"x * min({_F}, 3.5)"),
    Row("prim::max.int_float", f"x * max({_N}, 3.5)"),
    Row("prim::min.float_int", f"x * min({_F}, 3)"),
    Row("prim::max.self_int", "x * max([x.size(0), 7])"),
    Row("prim::min.self_int", "x * min([x.size(0), 7])"),
]

CREATED: Final = [
    Row("aten::zeros", "torch.zeros(x.size()) + x"),
    Row("aten::ones", "torch.ones([x.size(2)], dtype=torch.int32) + x"),
    Row("aten::full", "torch.full([3, 4], 1.5) + x"),
    Row("aten::full", "torch.full([3, x.size(2)], 2) + x"),
    Row("aten::arange", "torch.arange(x.size(2)) * x"),
    Row("aten::arange.start", "torch.arange(-4, 0, dtype=torch.float32) * x"),
    Row("aten::arange.start_step", "torch.arange(0, 2, 0.5) * x"),
    Row("aten::zeros_like", "torch.zeros_like(x) + x"),
    Row("aten::ones_like", "torch.ones_like(x, dtype=torch.int64) + x"),
    Row("aten::full_like", "torch.full_like(x, 2) + x"),
    Row("aten::new_zeros", "x.new_zeros([3, 4]) + x"),
    Row("aten::new_ones", "x.new_ones([4], dtype=torch.int32) + x"),
    Row("aten::new_full", "x.new_full([4], 3) + x"),
    Row("aten::tensor", "torch.tensor([1.5, 2.5, 3.5, 4.5]) * x"),
    Row("aten::tensor.int", "torch.tensor(x.size(0)) * x"),
    Row("aten::tensor.float", "torch.tensor(2.5) * x"),
    Row("aten::eye.m", "torch.eye(3, 4) + x"),
    Row("aten::linspace", "torch.linspace(0, 1, 4) + x"),
    Row("aten::clone", "x.clone() + 1"),
    Row("aten::copy_", "y = torch.zeros_like(x)\ny.copy_(x)\ny + 1"),
    Row("aten::fill_.Scalar", "y = torch.zeros_like(x)\ny.fill_(2.5)\ny + x"),
    Row("aten::zero_", "y = x * 2\ny.zero_()\ny + x"),
]

EVALUATED: Final = [*CONTAINERS, *PROPERTIES, *ARITHMETIC, *CREATED]
