"""How long one operator takes from its source to an installed wheel, beside one written by hand.

Start it with `opwright run -- python benchmarks/build_time.py`.

Both have schema, NPU kernel, Meta and C++ autograd. `declared` is a declaration and
`opwright build`, without anything in the cache; `by hand` is one file against torch/extension.h and
op_api_common.h, built by torch_npu's NpuExtension, as torch_npu documents it. Each is a wheel that
pip installs into an empty folder. Both run on the same two processors, one after the other; the
rounds alternate and the fastest one counts. Memory is the largest process.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).with_suffix("")
PROCESSORS = 2
ROUNDS = 2
# Seconds that the declared operator may take, and its part of the other one's time.
MOST_SECONDS, MOST_PART = 15.0, 0.2
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]


@dataclass(frozen=True, slots=True)
class Run:
    """The cost of a command."""

    seconds: float
    megabytes: float


def run(command: list[str], environ: dict[str, str]) -> Run:
    """Run a command to its end; stop the benchmark if it fails."""
    begin = time.monotonic()
    pid = os.posix_spawn(command[0], command, environ)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return Run(time.monotonic() - begin, usage.ru_maxrss / 1024)


def declared(folder: Path) -> list[Run]:
    """Build and install the declared operator."""
    shutil.copytree(HERE / "project", folder / "project")
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [str(Path(sys.executable).with_name("opwright")), "build", str(folder / "project")]
    return [
        run([*command, "-o", str(folder / "dist")], environ),
        install(folder, environ),
    ]


def by_hand(folder: Path) -> list[Run]:
    """Build and install the operator that is written by hand."""
    shutil.copytree(HERE / "by_hand", folder / "by_hand")
    environ = {**os.environ, "MAX_JOBS": str(PROCESSORS)}
    build = [*PIP, "wheel", "--no-build-isolation", "--no-deps", "-w", str(folder / "dist")]
    return [run([*build, str(folder / "by_hand")], environ), install(folder, environ)]


def install(folder: Path, environ: dict[str, str]) -> Run:
    """Install the wheel into an empty folder."""
    wheel = next((folder / "dist").glob("*.whl"))
    target = ["install", "--no-deps", "--no-index", "--target", str(folder / "site"), str(wheel)]
    return run([*PIP, *target], environ)


def main() -> None:
    """Print the table; exit with an error if the declared operator takes too long."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
    best: dict[str, tuple[float, list[Run]]] = {}
    for _ in range(ROUNDS):
        for name, side in (("declared", declared), ("by hand", by_hand)):
            with tempfile.TemporaryDirectory() as folder:
                runs = side(Path(folder))
            total = sum(each.seconds for each in runs)
            if name not in best or total < best[name][0]:
                best[name] = total, runs
    print(f"{'':<10} {'wheel s':>8} {'install s':>9} {'total s':>8} {'memory MB':>10}")
    for name, (total, (wheel, installed)) in best.items():
        print(
            f"{name:<10} {wheel.seconds:>8.1f} {installed.seconds:>9.1f} {total:>8.1f} "
            f"{max(wheel.megabytes, installed.megabytes):>10.0f}"
        )
    seconds = best["declared"][0]
    part = seconds / best["by hand"][0]
    print(f"\ndeclared takes {part:.2f} of the time by hand")
    print(f"demand: at most {MOST_SECONDS:.0f} seconds and {MOST_PART} of the time by hand")
    sys.exit(not (seconds <= MOST_SECONDS and part <= MOST_PART))


if __name__ == "__main__":
    main()
