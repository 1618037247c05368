"""The tests that are known to differ: known.tsv has a line for each test, with its reason.

Such a test has to fail; one that passes is an error.
"""

from __future__ import annotations

import csv
from pathlib import Path

__all__ = ["TABLE", "read"]

TABLE = Path(__file__).with_name("known.tsv")


def read(path: Path = TABLE) -> dict[str, str]:
    """Return the reasons, by test: `file::function[case]`.

    Raises
    ------
    ValueError
        A test is there twice, or without a reason.
    """
    reasons: dict[str, str] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            test, reason = row["test"], row["reason"]
            if not reason or test in reasons:
                message = f"{path.name}: {test} must be there once, with a reason"
                raise ValueError(message)
            reasons[test] = reason
    return reasons
