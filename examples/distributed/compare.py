"""Compare the losses of several ranks with those of one process: `compare.py ALONE TOGETHER...`."""

import json
import sys
from pathlib import Path

ALLOWED = 1e-3  # between two losses of one step


def main() -> int:
    """Print a table; return 1 if a loss differs."""
    alone, *together = map(Path, sys.argv[1:])
    expected = json.loads(alone.read_text(encoding="utf-8"))
    print("| run | steps | first loss | last loss | largest difference from one process |")
    print("|---|---|---|---|---|")
    wrong = []
    for path in together:
        losses = json.loads(path.read_text(encoding="utf-8"))
        largest = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
        print(
            f"| {path.stem} | {len(losses)} | {losses[0]:.4f} | {losses[-1]:.4f} | {largest:.1e} |"
        )
        if not largest <= ALLOWED:  # NaN is wrong as well
            wrong.append(path.stem)
    if wrong:
        print(f"compare.py: not the losses of one process: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
