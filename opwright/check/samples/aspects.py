"""Aspects in which the samples of an operator can differ."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["ALL", "Aspect"]

# dtype      of each tensor whose dtype is free
# size       sizes of the named axes: 0, 1, and others
# rank       the number of axes where it is free
# layout     strides and storage offsets: transposed, sliced, expanded
# presence   optional arguments given or not
# length     number of elements of lists
# value      of ints, floats, words; and the seed of the tensors' values
Aspect: TypeAlias = Literal["dtype", "size", "rank", "layout", "presence", "length", "value"]
ALL: frozenset[Aspect] = frozenset(get_args(Aspect))
