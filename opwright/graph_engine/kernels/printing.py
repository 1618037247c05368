"""Printing tensors: StringFormat writes a text, PrintV2 prints it.

A text is a tensor of bytes, long enough for any values and padded with zeros, because the shapes of
a graph do not depend on values. The format is that of `torchair.ops.npu_print` in eager mode.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.fx.node import has_side_effect

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

# The longest integer, longer than nine digits with sign, point and exponent; and its separator.
WIDEST = len(str(torch.iinfo(torch.int64).min)) + 2
LONGEST_INTEGER = len(f"{sys.float_info.max:.0f}") + 3
ELLIPSIS = "..."


@kernel("StringFormat", source="graphengine:third_party/fwkacllib/inc/ops/string_ops.h")
def string_format(
    x: list[torch.Tensor],
    *,
    template: str = "%s",
    placeholder: str = "%s",
    summarize: int = 3,
) -> torch.Tensor:
    """Write each tensor in place of a placeholder."""
    written = torch.ops.opwright_engine.format_text(list(x), template, placeholder, summarize)
    return cast("torch.Tensor", written)


@kernel("PrintV2", source="graphengine:third_party/fwkacllib/inc/ops/logging_ops.h")
def print_v2(x: torch.Tensor, *, output_stream: str = "stderr") -> tuple[torch.Tensor, ...]:
    """Print a text; TorchAir brings what the device prints to the standard output."""
    require_one_of("output_stream", output_stream, "stderr", "stdout")
    torch.ops.opwright_engine.print_text(x)
    return ()


def room_for(x: Sequence[torch.Tensor], template: str, summarize: int) -> int:
    """Return how many bytes hold the text, whatever the values are."""
    return len(template.encode()) + sum(room_of(each, summarize) for each in x)


def room_of(x: torch.Tensor, summarize: int) -> int:
    """Return how many bytes hold the text of a tensor."""
    widest = WIDEST if x.dtype != torch.float64 else LONGEST_INTEGER
    if x.dtype in (torch.float32, torch.bfloat16):
        widest = len(f"{torch.finfo(torch.float32).max:.0f}") + 3
    shown = [size if summarize < 0 else min(size, 2 * summarize + 1) for size in x.shape]
    brackets = sum(math.prod(shown[:axis]) * len("[]\n ") for axis in range(x.dim()))
    return math.prod(shown) * max(widest, len(ELLIPSIS) + 2) + brackets


def describe(x: torch.Tensor, summarize: int) -> str:
    """Return the text of a tensor; of long axes the first and last `summarize` elements.

    >>> describe(torch.tensor([[1.0, 2.5]]), 3)
    '[[1 2.5]]'
    >>> describe(torch.arange(9), 2)
    '[0 1 ... 7 8]'
    """
    if x.dim() == 0:
        value = float(x.item())
        return f"{value:.0f}" if value.is_integer() else f"{value:.9g}"
    separator = " " if x.dim() == 1 else "\n "
    if summarize < 0 or x.shape[0] <= 2 * summarize:
        parts = [describe(each, summarize) for each in x]
    else:
        first = [describe(each, summarize) for each in x[:summarize]]
        last = [describe(each, summarize) for each in x[-summarize:]]
        parts = [*first, ELLIPSIS, *last]
    return f"[{separator.join(parts)}]"


def fill_in(template: str, placeholder: str, texts: Sequence[str]) -> str:
    """Return the template with the texts in place of its first placeholders.

    >>> fill_in("a {} b {} {}", "{}", ["1", "2"])
    'a 1 b 2 {}'
    """
    first, *parts = template.split(placeholder, len(texts))
    return first + "".join(text + part for text, part in zip(texts, parts, strict=False))


def fake(
    x: Sequence[torch.Tensor], template: str, _placeholder: str, summarize: int
) -> torch.Tensor:
    """Return the text without values."""
    return torch.empty(room_for(x, template, summarize), dtype=torch.uint8)


def real(
    x: Sequence[torch.Tensor], template: str, placeholder: str, summarize: int
) -> torch.Tensor:
    """Write the text."""
    text = fill_in(template, placeholder, [describe(each, summarize) for each in x])
    result = torch.zeros(room_for(x, template, summarize), dtype=torch.uint8)
    data = bytearray(text.encode())
    if data:
        result[: len(data)] = torch.frombuffer(data, dtype=torch.uint8)
    return result


def print_text(text: torch.Tensor) -> None:
    """Print a text without its padding."""
    sys.stdout.write(bytes(text.tolist()).rstrip(b"\0").decode() + "\n")
    sys.stdout.flush()


library: Any = cast("Any", torch.library).Library("opwright_engine", "FRAGMENT")  # it has no types
library.define("format_text(Tensor[] x, str template, str placeholder, int summarize) -> Tensor")
library.impl("format_text", real, "CompositeExplicitAutograd")
torch.library.register_fake("opwright_engine::format_text", fake, lib=library)
# Neither TorchScript's interpreter nor FX may drop a call without results.
library.define("print_text(Tensor text) -> ()", alias_analysis="CONSERVATIVE")
library.impl("print_text", print_text, "CompositeExplicitAutograd")
torch.library.register_fake("opwright_engine::print_text", lambda _text: None, lib=library)
has_side_effect(torch.ops.opwright_engine.print_text.default)
