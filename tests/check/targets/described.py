"""Descriptions of a part of the library of library.py."""

from __future__ import annotations

import opwright as ow

ops = ow.OperatorSet("checked_library", existing=True)


@ops.operator("twofold(Tensor x) -> Tensor", samples=[ow.sample(x=ow.tensor(3))])
def twofold(x):
    return x + x
