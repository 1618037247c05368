"""From saving an edit of an operator to its first result on the twin, live: under half a second.

Start it with `opwright run -- python benchmarks/dev_loop.py`.

A file with a declaration is edited: another constant in the reference function. `running process`
runs the file again where it was loaded before, with torch.compile used in between; `fresh process`
starts Python anew. Both end when the result of the edited operator is back from the NPU, forward
and gradient. What is measured leaves out `import torch`, which loads torch_npu and the twin as
well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

LIMIT = 0.5
ROUNDS = 10
FRESH_ROUNDS = 5

# A declaration as an author has it: shapes, dtypes, a backward, an in-place operator.
SOURCE = """
import torch
import opwright as ow

ops = ow.OperatorSet("dev_loop", version="1.0")


@ops.operator(
    "rms_norm(Tensor x, Tensor gamma, *, float epsilon=1e-6) -> (Tensor y, Tensor rstd)",
    aclnn="aclnnDevLoopRmsNorm(x, gamma, epsilon, y, rstd)",
    shapes={"x": "*batch, D", "gamma": "D", "y": ow.like("x"), "rstd": "*batch, 1"},
    dtypes={"x": "float32 float16 bfloat16", "gamma": "x", "rstd": "float32"},
)
def rms_norm(x, gamma, *, epsilon=1e-6):
    rstd = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + epsilon)
    return (x * rstd).to(x.dtype) * gamma * FACTOR, rstd


@rms_norm.backward(saves=("x", "gamma", "rstd"), outputs=("y",))
def _(grad, x, gamma, rstd):
    normed = x * rstd
    scaled = grad * gamma * FACTOR
    grad_x = rstd * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))
    return grad_x.to(x.dtype), (grad * normed).flatten(0, -2).sum(0).to(gamma.dtype)


@ops.operator("rescale_(Tensor(a!) x, float factor) -> Tensor(a!)", backward={"x": "grad * factor"})
def rescale_(x, factor):
    return x.mul_(factor)


ops.load()
"""
# The script of a fresh process; it prints the seconds of `import torch` and of the rest.
FRESH = """
import json, sys, time
begin = time.perf_counter()
import torch
imported = time.perf_counter()
scope = {"__name__": "operators", "__file__": sys.argv[1]}
with open(sys.argv[1]) as file:
    exec(compile(file.read(), sys.argv[1], "exec"), scope)
x = torch.ones(2, 8, device="npu", requires_grad=True)
y = scope["rms_norm"](x, torch.ones(8, device="npu"))[0]
y.sum().backward()
result = float(y.detach().cpu().mean()), float(x.grad.cpu().sum())
print(json.dumps([imported - begin, time.perf_counter() - imported, result[0]]))
"""


def save(path: Path, factor: int) -> None:
    """Save an edit."""
    path.write_text(SOURCE.replace("FACTOR", str(factor)), encoding="utf-8")


def run_file(path: Path) -> dict[str, object]:
    """Run a file as a reloaded module."""
    scope: dict[str, object] = {"__name__": "operators", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)  # noqa: S102 - the file of this script
    return scope


def in_running_process(path: Path) -> list[float]:
    """Return the seconds of each round."""
    import torch  # noqa: PLC0415 - a fresh process imports it on its own

    save(path, 1)
    run_file(path)
    x = torch.ones(2, 8, device="npu", requires_grad=True)
    gamma = torch.ones(8, device="npu")
    seconds = []
    for factor in range(2, 2 + ROUNDS):
        begin = time.perf_counter()
        save(path, factor)
        operator = run_file(path)["rms_norm"]
        y = operator(x, gamma)[0]  # type: ignore[operator]
        y.sum().backward()
        value = float(y.detach().cpu().mean())
        seconds.append(time.perf_counter() - begin)
        check(value, factor)
        torch.compile(lambda t, f=operator: f(t, gamma)[0] * 2, backend="aot_eager")(x.detach())
    return seconds


def in_fresh_process(path: Path) -> tuple[list[float], list[float]]:
    """Return the seconds of each round: the loop, and the import of torch.

    The first round only writes the bytecode that an installed package has.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(path.parent / "bytecode")
    loops, imports = [], []
    for factor in range(2, 3 + FRESH_ROUNDS):
        save(path, factor)
        command = [sys.executable, "-c", FRESH, str(path)]
        result = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment
        )
        imported, loop, value = json.loads(result.stdout)
        check(value, factor)
        loops.append(loop)
        imports.append(imported)
    return loops[1:], imports[1:]


def check(value: float, factor: int) -> None:
    """Raise unless the result is that of the edited file."""
    if abs(value - factor) > 1e-3:  # noqa: PLR2004 - float32, of a mean of ones
        message = f"the result is {value}, that of an older file; {factor} was saved"
        raise RuntimeError(message)


def main() -> int:
    """Measure and print; fail beyond the limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "operators.py"
        running = in_running_process(path)
        fresh, imports = in_fresh_process(path)
    print(f"running process  {median(running):.3f} s (worst {max(running):.3f})")
    print(f"fresh process    {median(fresh):.3f} s (worst {max(fresh):.3f}),")
    print(f"                 besides {median(imports):.1f} s of `import torch`")
    worst = max(median(running), median(fresh))
    print(f"limit            {LIMIT} s: {'kept' if worst < LIMIT else 'EXCEEDED'}")
    return int(worst >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
