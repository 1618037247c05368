"""Run the benchmarks and write what they print, each under what it measures.

    python tools/performance_page.py [--page docs/performance.md] [NAME ...]

`make bench` runs all of them, which takes about half an hour on an idle machine. Without --page the
tables are only printed. Names are those of scripts in benchmarks/, without the ending.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
# The part of the page that a person writes: what its figures amount to.
SUMMARY = "## In short\n"
RUNNER = ROOT / "tools" / "benchmark_output.py"  # keeps what libraries print out of the page
# Modules that the scripts import; they measure nothing themselves.
PARTS = {"machine", "process_memory", "timing"}
# Takes hours and counts findings: what it prints is in docs/check.md.
ALONE = {"check_mutants"}

HEAD = """# Performance

Most figures are ratios against a peer that was measured in the same run: machines differ, and are
never quite idle. `make bench` prints them afresh, `python tools/performance_page.py --page
docs/performance.md` writes this page; a script of benchmarks/ that is not here was left out of that
run. The twin is not a model of an NPU's speed: what stands here is what running on a CPU costs.

Measured on {machine}.
"""


def machine() -> str:
    """Return this machine's processor and number of cores, as text."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


def scripts(names: list[str]) -> list[Path]:
    """Return the benchmarks of these names, or all; a name that is none ends the program."""
    paths = sorted(BENCHMARKS.glob("*.py"))
    found = {path.stem: path for path in paths if path.stem not in PARTS | ALONE}
    if unknown := sorted(set(names) - set(found)):
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {', '.join(found)}")
    return [found[name] for name in names or found]


def measure(script: Path) -> tuple[str, bool]:
    """Run a benchmark on the twin; return what it prints, also shown here, and if it succeeded."""
    command = ["opwright", "run", "--", sys.executable, str(RUNNER), str(script)]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines).strip("\n"), process.returncode == 0


def section(script: Path, printed: str) -> str:
    """Return a benchmark's part of the page: what it measures, and its tables."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    title, _, rest = text.partition("\n")
    head = f"## {title.rstrip('.')}\n\n`benchmarks/{script.name}`\n\n{rest.strip()}"
    return f"{head}\n\n```text\n{printed}\n```\n"


def summary(page: str) -> list[str]:
    """Return the part of a page that a person wrote, if it has one."""
    _, mark, rest = page.partition(f"\n{SUMMARY}")
    return [SUMMARY + rest.partition("\n## ")[0].rstrip("\n") + "\n"] if mark else []


def main() -> None:
    """Measure, print, and write the page if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--page", type=Path, help="the Markdown file to write")
    options = parser.parse_args()
    page = options.page
    written = page.read_text(encoding="utf-8") if page and page.is_file() else ""
    sections, failed = summary(written), []
    for script in scripts(options.names):
        print(f"\n== {script.stem}", flush=True)
        printed, kept = measure(script)
        sections.append(section(script, printed))
        if not kept:
            failed.append(script.name)
        if page:  # after each, so that an interrupted run leaves what it has measured
            text = "\n".join([HEAD.format(machine=machine()), *sections])
            page.write_text(text, encoding="utf-8")
    if failed:
        sys.exit(f"a demand is not kept, or nothing was measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
