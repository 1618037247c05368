"""Compare the losses of runs on NPU and on the CPU: `python compare.py FOLDER NAME ...`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

# Of a loss. Mixed precision rounds in other places on each device, bfloat16 to 8 bits.
TOLERANCES = {None: 1e-3, "bfloat16": 5e-2, "float16": 5e-2}


def row(name, npu, cpu):
    """Return the cells of a run, and whether it holds."""
    losses = list(zip(npu["losses"], cpu["losses"], strict=True))
    difference = max(abs(ours - theirs) for ours, theirs in losses)
    holds = difference <= TOLERANCES[npu["amp"]] and losses[-1][0] < losses[0][0]
    values = (losses[0][0], *losses[-1])
    return [
        name,
        str(len(losses)),
        *(f"{value:.5f}" for value in values),
        f"{difference:.1e}",
    ], holds


def main():
    """Print a table; return 1 if a difference is too large or a loss has not fallen."""
    folder, *names = sys.argv[1:]
    results = []
    for name in names:
        pair = (Path(folder, f"{name}.{device}.json") for device in ("npu", "cpu"))
        results.append(row(name, *(json.loads(path.read_text(encoding="utf-8")) for path in pair)))
    heads = ["run", "steps", "first loss", "last loss, NPU", "last loss, CPU", "largest difference"]
    for cells in (heads, ["---", *["---:"] * 5], *(cells for cells, _ in results)):
        print("| " + " | ".join(cells) + " |")
    wrong = [cells[0] for cells, holds in results if not holds]
    if wrong:
        print(f"compare.py: NPU and CPU do not agree: {', '.join(wrong)}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
