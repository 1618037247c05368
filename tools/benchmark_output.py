"""Run a benchmark with nothing but its own lines on standard output.

    python tools/benchmark_output.py FILE [ARGUMENT ...]

torch_npu and TorchAir write warnings to standard output, in Python and in C++. Here only lines that
a module of the benchmark's folder writes stay there; all others go to standard error.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
from pathlib import Path

import rich

RICH = str(Path(rich.__file__).parent)  # prints tables for its caller


class OwnOutput(io.TextIOBase):
    """Standard output for the modules of a folder; others write to standard error.

    Parameters
    ----------
    folder
        Where the benchmark and the modules are that it shares with others.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = str(folder)
        # The descriptor itself is standard error's from here on, for what C++ writes.
        self.own = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
        os.dup2(2, 1)

    def write(self, text: str) -> int:
        """Write to the output that belongs to the calling module."""
        frame = sys._getframe(1)  # noqa: SLF001 - documented
        while frame.f_code.co_filename.startswith(RICH) and frame.f_back is not None:
            frame = frame.f_back
        is_own = frame.f_code.co_filename.startswith(self.folder)
        return (self.own if is_own else sys.stderr).write(text)

    def flush(self) -> None:
        """Flush both."""
        self.own.flush()
        sys.stderr.flush()


def main() -> None:
    """Run the benchmark as Python would."""
    script = Path(sys.argv[1]).resolve()
    sys.argv = [str(script), *sys.argv[2:]]
    sys.path[0] = str(script.parent)
    sys.stdout = OwnOutput(script.parent)
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
