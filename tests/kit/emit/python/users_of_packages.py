"""Functions that use an installed package in a process that has torch_npu, but no opwright."""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec

Package = Any  # it exists only where it is installed


class Refuse:
    """Finds no opwright, as a machine without it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None, /
    ) -> ModuleSpec | None:
        """Refuse opwright, and leave other modules to the finders behind this one.

        Raises
        ------
        ImportError
            If it is a module of opwright.
        """
        del path, target
        if name.partition(".")[0] == "opwright":
            message = "opwright is not there"
            raise ImportError(message)
        return None


def import_alone(name: str, site: str) -> Package:
    """Import a package from the folder that it is in; from now on opwright is not there."""
    sys.meta_path.insert(0, Refuse())
    for each in [each for each in sys.modules if each.partition(".")[0] == "opwright"]:
        del sys.modules[each]
    sys.path.insert(0, site)
    return importlib.import_module(name)


def run_without_opwright(name: str, site: str) -> None:
    package = import_alone(name, site)
    assert package.scale(torch.ones(2), 3.0).tolist() == [3, 3]
    assert package.__version__
    assert not [each for each in sys.modules if each.partition(".")[0] == "opwright"]


def be_refused(name: str, site: str, message: str) -> None:
    """Import what says on one line why it cannot be imported."""
    with pytest.raises(ImportError) as caught:
        import_alone(name, site)
    assert str(caught.value) == message, caught.value


def be_refused_by_version(name: str, site: str, message: str) -> None:
    """Import it where another torch is installed."""
    vars(torch)["__version__"] = "2.6.1"
    be_refused(name, site, message)


def compile_a_write(name: str, site: str) -> None:
    package = import_alone(name, site)

    def step(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        y = package.ema_(a * 1, b, decay=0.5)
        total: torch.Tensor = package.scale(y, 2.0).sum()
        return total

    a, b = torch.rand(2, 3, requires_grad=True), torch.rand(2, 3)
    (want,) = torch.autograd.grad(step(a, b), a)
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    (got,) = torch.autograd.grad(compiled(a, b), a)
    assert torch.equal(want, got)
    assert want[0, 0].item() == 1


def import_torchair_later(name: str, site: str) -> None:
    """Import TorchAir after the package, which then registers its converters."""
    operator = import_alone(name, site).ops.center.default
    assert not hasattr(operator, "_ge_converter")
    torchair = importlib.import_module("torchair")
    assert torchair.ge
    got = list(inspect.signature(operator._ge_converter).parameters)  # noqa: SLF001
    want = [argument.name for argument in operator._schema.arguments]  # noqa: SLF001
    assert got == want, (got, want)


def cast_automatically(site: str) -> None:
    """Call with automatic casts; without a kernel, the error names the function."""
    package = import_alone("kit", site)
    x = torch.ones(2).to("npu")
    result, refused = None, ""
    with torch.autocast("npu", dtype=torch.float16):
        try:
            result = package.scale(x, 2.0)
        except RuntimeError as error:
            refused = str(error)
    assert "aclnnKitScale" in refused if result is None else result.dtype == torch.float16, refused


def call_what_is_deprecated(site: str) -> None:
    """Call twice: one warning, which names the caller's file."""
    package = import_alone("kit", site)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package.old_scale(torch.ones(2), 1.0)
        package.old_scale(torch.ones(2), 1.0)
    messages = [str(each.message) for each in caught]
    assert messages == ["kit.old_scale is deprecated since 1.1; use scale"], messages
    assert caught[0].filename == __file__, caught[0].filename
