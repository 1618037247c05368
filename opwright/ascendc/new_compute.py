"""The computation in the kernel of a new project, until its author writes another one.

It copies the first input to the first output, and converts where their dtypes differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.ascendc.kernel_source import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["compute_lines"]

COPY = (
    "constexpr uint32_t perBlock = 32 / sizeof(In);",
    "DataCopy(output, input, (count + perBlock - 1) / perBlock * perBlock);",
)
ZERO = (
    "// No instruction converts these dtypes in one step; until this is written, there are zeros.",
    "const uint32_t words = (count * sizeof(Out) + 31) / 32 * 16;",
    "Duplicate(output.template ReinterpretCast<int16_t>(), static_cast<int16_t>(0), words);",
)
# Conversions of Cast, and how each rounds: as PyTorch does.
EXACT, NEAREST, TOWARDS_ZERO = "CAST_NONE", "CAST_RINT", "CAST_TRUNC"
MODES = {
    **{(source, "FLOAT"): EXACT for source in ("FLOAT16", "BF16", "INT16", "INT32")},
    **{(source, "FLOAT16"): EXACT for source in ("INT8", "UINT8", "INT16")},
    **dict.fromkeys((("INT32", "INT16"), ("INT32", "INT64"), ("INT64", "INT32")), EXACT),
    **dict.fromkeys((("FLOAT", "FLOAT16"), ("FLOAT", "BF16"), ("INT64", "FLOAT")), NEAREST),
    **{("FLOAT", to): TOWARDS_ZERO for to in ("INT16", "INT32", "INT64")},
    **{("FLOAT16", to): TOWARDS_ZERO for to in ("INT8", "UINT8", "INT16", "INT32")},
    ("BF16", "INT32"): TOWARDS_ZERO,
}


def statements(source: str, target: str) -> tuple[str, ...]:
    """Return the statements for a dtype of the input and one of the output."""
    if TYPES[source] == TYPES[target]:
        return COPY
    mode = MODES.get((source, target))
    return ZERO if mode is None else (f"Cast(output, input, RoundMode::{mode}, count);",)


def compute_lines(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the statements for all pairs of dtypes: of the first input, and the first output."""
    groups: dict[tuple[str, ...], dict[str, None]] = {}
    for source, target in pairs:
        lines = statements(source, target)
        condition = f"std::is_same_v<In, {TYPES[source]}> && std::is_same_v<Out, {TYPES[target]}>"
        if lines is COPY:
            condition = "std::is_same_v<In, Out>"
        groups.setdefault(lines, {})[condition] = None
    if len(groups) == 1:
        (lines,) = groups
        return "\n".join(f"    {line}" for line in lines)
    text: list[str] = []
    for number, (lines, conditions) in enumerate(groups.items()):
        alternatives = list(conditions)
        if len(alternatives) > 1:
            alternatives = [f"({each})" for each in alternatives]
        test = " ||\n                  ".join(alternatives)
        is_last = number == len(groups) - 1
        text.append(
            "    } else {" if is_last else f"    {'} else ' * bool(number)}if constexpr ({test}) {{"
        )
        text += [f"      {line}" for line in lines]
    return "\n".join([*text, "    }"])
