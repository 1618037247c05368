"""Write opwright/kit/declare/aten_functions.txt: the names of torch's own operators.

    python tools/aten_functions.py

A formula of a backward may call them. Declarations are read without torch, so the names stand in a
file; a test compares it with the torch that is installed.
"""

from __future__ import annotations

import os
from pathlib import Path

if __name__ == "__main__":
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # torch's own operators need no NPU

import torch

from opwright.internals.dispatcher import dispatch_get_all_op_names

FILE = Path(__file__).parents[1] / "opwright" / "kit" / "declare" / "aten_functions.txt"


def list_functions() -> list[str]:
    """Return the names: without overloads, and without those that write what they are given.

    Operators of TorchScript alone, such as `aten::len`, have no header.
    """
    headers = {path.stem for path in Path(torch.__file__).parent.glob("include/ATen/ops/*.h")}
    names = {
        name.removeprefix("aten::").partition(".")[0]
        for name in dispatch_get_all_op_names()
        if name.startswith("aten::")
    }
    return sorted(name for name in names & headers if not name.endswith("_"))


if __name__ == "__main__":
    FILE.write_text("".join(f"{name}\n" for name in list_functions()), encoding="utf-8")
    print(f"wrote {FILE.name}")
