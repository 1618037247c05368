"""Prints the tables of what decode.py found, and draws the plot: python report.py RESULTS PLOT."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Text stays text, and the same figures give the same file.
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "sparse_decode", "font.size": 11}
CURVES = {
    "dense": ("dense: all tokens", "#c44e52"),
    "sparse": ("sparse: indexer and selected tokens", "#4c72b0"),
    "indexer": ("of that, the indexer", "#a0b4d8"),
}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, with columns as wide as they need."""
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    return "\n".join(lines)


def named(context: float) -> str:
    """Return a length as it is written: 4 K."""
    return f"{int(context) // 1024} K"


def agreement_table(found: dict[str, dict[str, float]]) -> str:
    """Return how the modes agree with the reference on the CPU and with eager."""
    rows = (
        (
            mode,
            f"{row['same']} of {row['of']}" + (f", ties: {row['ties']}" if row["ties"] else ""),
            f"{row['reference']:.4f}",
            "bit for bit" if row["eager"] == 0 else f"{row['eager']:.4f}",
        )
        for mode, row in found.items()
    )
    return table(
        ("mode", "tokens as on the CPU", "largest difference of a logit", "from eager"), rows
    )


def speed_table(found: dict[str, dict[str, float]]) -> str:
    """Return tokens per second of each mode, by the context."""
    modes = list(next(iter(found.values())))
    rows = (
        (named(int(context)), *(f"{speeds[mode]:.1f}" for mode in modes))
        for context, speeds in found.items()
    )
    return table(("context", *modes), rows)


def attention_table(found: list[dict[str, float]]) -> str:
    """Return milliseconds of a layer's attention."""
    rows = (
        (
            named(row["context"]),
            f"{row['indexer']:.1f}",
            f"{row['sparse']:.1f}",
            f"{row['indexer'] + row['sparse']:.1f}",
            f"{row['dense_kernel']:.1f}",
            f"{row['dense_matmul']:.1f}",
            f"{row['speed_up']:.1f}",
        )
        for row in found
    )
    return table(
        (
            "context",
            "indexer",
            "attention",
            "sparse: both",
            "dense: kernel",
            "dense: matmul",
            "speed-up",
        ),
        rows,
    )


def curves(found: list[dict[str, float]]) -> dict[str, list[float]]:
    """Return the milliseconds that are drawn."""
    return {
        "dense": [min(row["dense_kernel"], row["dense_matmul"]) for row in found],
        "sparse": [row["indexer"] + row["sparse"] for row in found],
        "indexer": [row["indexer"] for row in found],
    }


def draw(found: list[dict[str, float]], file: Path) -> None:
    """Draw both kinds of attention over the context, and write the speed-up beside."""
    contexts = [row["context"] for row in found]
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
        lines: dict[str, Any] = curves(found)
        for name, times in lines.items():
            label, color = CURVES[name]
            width = 1.2 if name == "indexer" else 2.2
            axes.plot(contexts, times, marker="o", lw=width, label=label, color=color)
        for row, top, bottom in zip(found, lines["dense"], lines["sparse"], strict=True):
            place = (row["context"], max(top, bottom))
            text = f"{row['speed_up']:.1f} x"
            axes.annotate(text, place, (0, 8), textcoords="offset points", ha="center")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.margins(y=0.15)
        axes.set_xticks(contexts, [named(context) for context in contexts])
        axes.set_xlabel("tokens in the context")
        axes.set_ylabel("milliseconds per layer and token")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})


def main() -> None:
    """Read the results, print the tables, write the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("plot", type=Path)
    options = parser.parse_args()
    results = json.loads(options.results.read_text(encoding="utf-8"))
    print("\nThe same tokens in each mode, against plain PyTorch on the CPU\n")
    print(agreement_table(results["agreement"]))
    print("\nTokens per second, one sequence\n")
    print(speed_table(results["tokens_per_second"]))
    print("\nMilliseconds of attention, per layer and token\n")
    print(attention_table(results["attention"]))
    draw(results["attention"], options.plot)
    print(f"\nThe plot is {options.plot}")


if __name__ == "__main__":
    main()
