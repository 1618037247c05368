"""Emitted packages, built with their own setup.py and used without opwright."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from opwright.kit.emit.all import emit_all
from opwright.kit.emit.cpp.stable import SINCE
from opwright.kit.emit.options import EmitOptions
from opwright.kit.packaging.writer import write_tree
from opwright.pairs import installed_minor
from tests.kit.emit.facts import facts_of
from tests.kit.emit.python.emitting import DECLARATIONS, STABLE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.twin,
    pytest.mark.build,
    pytest.mark.slow,
]

LIMIT = 600  # seconds
# A machine without opwright: importing it fails.
WITHOUT_OPWRIGHT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opwright":
            raise ImportError("opwright is not there")
sys.meta_path.insert(0, Refuse())
for name in [name for name in sys.modules if name.partition(".")[0] == "opwright"]:
    del sys.modules[name]
"""


def run(*command: str, cwd: Path, **environ: str) -> str:
    """Run a command that succeeds, and return its output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["kit", "thin"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def tree(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"tree_{name}")
    facts = facts_of(DECLARATIONS / f"{name}.py")
    write_tree(
        folder,
        emit_all(
            facts, EmitOptions(package=name, torch=installed_minor(), stable_abi=name in STABLE)
        ),
    )
    return folder


@pytest.fixture(scope="module")
def site(name: str, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and return the folder that it was installed in."""
    return installed(tree, tmp_path_factory, is_stable=name in STABLE)


def installed(tree: Path, factory: pytest.TempPathFactory, *, is_stable: bool) -> Path:
    """Build the wheel of a tree and return the folder that it was installed in."""
    wheels, folder = factory.mktemp("wheels"), factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", ".", "--no-build-isolation", "--no-deps", "-w", str(wheels), cwd=tree)
    (wheel,) = wheels.glob("*.whl")
    tag = "py3-none" if is_stable else f"cp{sys.version_info[0]}{sys.version_info[1]}-cp"
    assert f"-{tag}" in wheel.name
    run(*pip, "install", "--no-deps", "--target", str(folder), str(wheel), cwd=tree)
    return folder


def python(site: Path, code: str) -> str:
    """Run code on the twin, with the installed package."""
    prelude = "import opwright.twin, torch, torch_npu\n"
    return run(sys.executable, "-c", prelude + WITHOUT_OPWRIGHT + code, cwd=site)


def test_its_own_tests_pass_on_the_twin(site: Path, tree: Path) -> None:
    output = run(
        *("pytest", "--npu-twin", "-q", "-p", "no:cacheprovider", "--rootdir", str(tree)),
        cwd=tree / "tests",
        PYTHONPATH=str(site),
    )
    assert " passed" in output
    assert "skipped" not in output


def test_it_runs_without_opwright(name: str, site: Path) -> None:
    output = python(
        site,
        f"import {name}\n"
        f"print({name}.scale(torch.ones(2), 3.0).tolist(), {name}.__version__)\n"
        "print(any(m.partition('.')[0] == 'opwright' for m in sys.modules))\n",
    )
    assert output.splitlines()[0].startswith("[3.0, 3.0]")
    assert output.splitlines()[1] == "False"


def test_another_torch_is_one_clear_sentence(name: str, site: Path) -> None:
    output = python(
        site,
        "import torch.version\ntorch.__version__ = '2.6.1'\n"
        f"try:\n    import {name}\nexcept ImportError as error:\n    print(error)\n",
    )
    version = json.loads((site / name / "metadata.json").read_text())["version"]
    wanted = SINCE if name in STABLE else installed_minor()
    later = " or later" * (name in STABLE)
    torch_npu = importlib.metadata.version("torch_npu")
    assert output == (
        f"{name} {version} was built for torch {wanted}{later} and torch_npu {wanted}{later}, but "
        f"this environment has torch 2.6.1 and torch_npu {torch_npu}; install torch=={wanted}.* "
        f"and torch_npu=={wanted}.*, or a build of {name} for these versions\n"
    )


TRANSFORMS = """
torch.manual_seed(0)
x, w = torch.rand(3, 2, 4), torch.rand(4)
one = lambda x, w: p.center(x, w, shift=w)[0]
plain = lambda x, w: (x - x.mean(-1, keepdim=True)) * w + w
height = lambda f: lambda x: f(x, w).pow(3).sum()
again = lambda f: lambda x: torch.func.grad(f)(x).pow(2).sum()
f = torch.func
ways = {
    "vmap": lambda g: torch.vmap(g, (0, None))(x, w),
    "vmap of an argument without free axes": lambda g: torch.vmap(g)(x, x[:, 0]),
    "vmap of vmap": lambda g: torch.vmap(torch.vmap(g, (0, None)), (0, None))(x[None], w),
    "grad of grad": lambda g: f.grad(again(height(g)))(x),
    "vmap of grad": lambda g: torch.vmap(f.grad(height(g)))(x),
    "jacrev of jacrev": lambda g: f.jacrev(f.jacrev(height(g)))(x[0, :1]),
}
for name, way in ways.items():
    print(name, torch.allclose(way(one), way(plain), atol=1e-4))
b = torch.rand(1, 4, requires_grad=True)
g = torch.autograd.grad(height(one)(b), b, create_graph=True)[0]
h = torch.autograd.grad(height(plain)(b), b, create_graph=True)[0]
both = [torch.autograd.grad(each.pow(2).sum(), b)[0] for each in (g, h)]
print("autograd twice", torch.allclose(*both, atol=1e-4))
a = torch.rand(3, 2)
want = a * 0.5
torch.vmap(lambda a, b: p.ema_(a, b, decay=0.5))(a, torch.zeros(3, 2))
print("vmap in place", torch.allclose(a, want))
"""


def test_transformations_compute_what_they_do_of_plain_operations(name: str, site: Path) -> None:
    lines = python(site, f"import {name} as p\n{TRANSFORMS}").splitlines()
    assert len(lines) == 8
    assert [line for line in lines if not line.endswith(" True")] == []


def test_torch_compile_sees_no_mutation_and_computes_the_same(name: str, site: Path) -> None:
    output = python(
        site,
        f"import {name} as p\n"
        "def f(a, b):\n"
        "    y = p.ema_(a * 1, b, decay=0.5)\n"
        "    return p.scale(y, 2.0).sum()\n"
        "a, b = torch.rand(2, 3, requires_grad=True), torch.rand(2, 3)\n"
        "want = torch.autograd.grad(f(a, b), a)[0]\n"
        "compiled = torch.compile(f, backend='aot_eager', fullgraph=True)\n"
        "got = torch.autograd.grad(compiled(a, b), a)[0]\n"
        "print(torch.equal(want, got), want[0, 0].item())\n",
    )
    assert output == "True 1.0\n"


@pytest.mark.skipif(importlib.util.find_spec("google") is None, reason="TorchAir needs protobuf")
def test_the_converters_register_when_torchair_is_imported(name: str, site: Path) -> None:
    output = python(
        site,
        f"import inspect, {name}\n"
        f"op = {name}.ops.center.default\n"
        "print(hasattr(op, '_ge_converter'))\n"
        "import torchair\n"
        "torchair.ge\n"
        "converter = op._ge_converter\n"
        "print(list(inspect.signature(converter).parameters))\n"
        "print([a.name for a in op._schema.arguments])\n",
    ).splitlines()
    assert output[0] == "False"
    assert output[1] == output[2]


def test_autocast_and_deprecation(name: str, site: Path) -> None:
    if name != "kit":
        pytest.skip("only kit declares them")
    output = python(
        site,
        "import kit, warnings\n"
        "x = torch.ones(2).npu()\n"
        "with torch.autocast('npu', dtype=torch.float16):\n"
        "    try:\n        print(kit.scale(x, 2.0).dtype)\n"
        "    except RuntimeError as error:\n        print('aclnnKitScale' in str(error))\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    kit.old_scale(torch.ones(2), 1.0)\n"
        "    kit.old_scale(torch.ones(2), 1.0)\n"
        "print([str(each.message) for each in caught], caught[0].filename)\n",
    )
    lines = output.splitlines()
    assert lines[0] in {"torch.float16", "True"}
    assert lines[1] == "['kit.old_scale is deprecated since 1.1; use scale'] <string>"


def test_a_source_tree_says_that_it_is_not_built(name: str, tree: Path) -> None:
    output = python(
        tree, f"try:\n    import {name}\nexcept ImportError as error:\n    print(error)\n"
    )
    assert output == (
        f"{name} has no library lib{name}.so beside it: this is its source; build and install the "
        "wheel, or run from another folder\n"
    )


WRITES = """
import warnings
import writes as p
warnings.simplefilter("ignore")  # torch_npu's
f = torch.func

def square(x, y):
    return x.copy_(x.clone() ** 2 * y)

def update(x, y):
    x.mul_(0.5).add_(y)
    return x * y

def exchange(x, y):
    before = x.clone()
    x.copy_(y)
    y.copy_(before)

def height(call):
    def function(x, y):
        x, y = x * 1, y * 1
        result = call(x, y)
        parts = [x, y] if result is None else [x, y, result]
        return sum((i + 1) * t.pow(3).sum() for i, t in enumerate(parts))
    return function

def result_only(call):
    return lambda x, y: call(x * 1, y * 1).pow(3).sum()

def once(g):
    def run(x, y):
        leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
        return torch.cat(torch.autograd.grad(g(*leaves), leaves))
    return run

def twice(g):
    def run(x, y):
        leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
        slopes = torch.autograd.grad(g(*leaves), leaves, create_graph=True)
        return torch.cat(torch.autograd.grad(sum(s.pow(2).sum() for s in slopes), leaves))
    return run

def of_both(transform):
    return lambda g: lambda x, y: torch.cat(transform(g, argnums=(0, 1))(x, y))

again = lambda g: lambda x, y: f.grad(g)(x, y).pow(2).sum()
ways = {
    "once": once, "twice": twice, "grad": of_both(f.grad), "jacrev": of_both(f.jacrev),
    "grad of grad": lambda g: of_both(f.grad)(again(g)),
    "vmap of grad": lambda g: lambda x, y: torch.vmap(f.grad(g))(x[None], y[None]),
}
torch.manual_seed(0)
x, y = torch.rand(3) + 0.5, torch.rand(3) + 0.5
operators = {"square_": square, "update_": update, "exchange_": exchange}
for name, plain in operators.items():
    for way, transform in ways.items():
        for of in (height, result_only) if name != "exchange_" else (height,):
            want = transform(of(plain))(x, y)
            try:
                same = torch.allclose(transform(of(getattr(p, name)))(x, y), want, rtol=1e-3)
            except RuntimeError as error:
                same = "refused" if str(error).startswith(REFUSED) else error
            print(name, way, of.__name__, same)
b, v = torch.rand(3, 3, 4), torch.rand(3, 4)
print("ranks", torch.allclose(torch.vmap(p.plus)(b, v), b + v[:, None]))
view, other = (torch.rand(4, requires_grad=True) * 1)[:3], y.clone()
try:
    p.exchange_(view, other)
    print("view", torch.allclose(view, y))
except RuntimeError as error:
    print("view", "a view that needs a gradient" in str(error))
"""


@pytest.mark.parametrize("is_stable", [False, True], ids=["classic", "stable"])
def test_gradients_of_what_writes_are_right_or_refused(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, *, is_stable: bool
) -> None:
    facts = facts_of(DECLARATIONS / "writes.py")
    write_tree(
        tmp_path,
        emit_all(
            facts, EmitOptions(package="writes", torch=installed_minor(), stable_abi=is_stable)
        ),
    )
    site = installed(tmp_path, tmp_path_factory, is_stable=is_stable)
    refusal = 'REFUSED = "the gradients of square_ cannot be computed"\n'
    lines = python(site, refusal + WRITES).splitlines()
    assert len(lines) == 32
    assert [line for line in lines if not line.endswith((" True", "refused"))] == []
    # Only torch.func's ways through an operator that writes over what its gradient needs.
    refused = [line.split()[:2] for line in lines if line.endswith("refused")]
    assert all(name == "square_" and way not in {"once", "twice"} for name, way in refused)
