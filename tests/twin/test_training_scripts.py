"""The options of the scripts in examples/training: losses on npu follow those on the CPU."""

from __future__ import annotations

import opwright.twin  # noqa: F401 - comes before torch

# isort: split
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPTS = Path(__file__).parents[2] / "examples" / "training"
FILES = ("diffusion", "fused", "llama", "loop", "mixture", "models", "plain", "resnet")
STEPS = 6
EXACT = 1e-3
# Fused operators round half precision in other places; batch norm of few images adds to it.
MIXED = 5e-2

pytestmark = [
    pytest.mark.twin,
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),  # torch_npu's optimizers
    pytest.mark.filterwarnings("ignore:Device do not support double dtype"),  # its GradScaler
    pytest.mark.filterwarnings("ignore:Non finite check and unscale on NPU device"),
]


@pytest.fixture(scope="module")
def script() -> Iterator[Callable[[str], Any]]:
    """Import a script by its name; modules of the same names are put back afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FILES:
            patch.delitem(sys.modules, name, raising=False)
        patch.syspath_prepend(SCRIPTS)
        yield importlib.import_module
        for name in FILES:
            sys.modules.pop(name, None)


def losses(module: Any, device: str, options: list[str]) -> torch.Tensor:  # noqa: ANN401 - a script
    """Train as the script does, and give the loss of each step."""
    chosen = module.options().parse_args(["--device", device, "--steps", f"{STEPS}", *options])
    trainer, batches, *_ = module.prepare(chosen)
    trainer.run(batches)
    return torch.stack(trainer.losses).float().cpu()


def without_autocast(options: list[str]) -> list[str]:
    """Leave out --amp and its dtype."""
    if "--amp" not in options:
        return options
    place = options.index("--amp")
    return options[:place] + options[place + 2 :]


@pytest.mark.parametrize(
    ("command", "tolerance"),
    [
        ("llama --packed --recompute", EXACT),
        ("llama --amp bfloat16 --optimizer fused", MIXED),
        ("llama --amp float16", MIXED),
        ("mixture --optimizer foreach", EXACT),
        ("mixture --amp bfloat16", MIXED),
        ("diffusion --amp bfloat16 --optimizer fused", MIXED),
        ("diffusion --amp float16 --optimizer foreach", MIXED),
        ("resnet --amp float16", MIXED),
        # The CPU takes other convolutions for this layout; batch norm adds to their rounding.
        ("resnet --channels-last --optimizer foreach", MIXED),
        ("resnet --optimizer fused", EXACT),
    ],
)
def test_losses_follow_the_cpu(
    script: Callable[[str], Any], command: str, tolerance: float
) -> None:
    name, *options = command.split()
    npu = losses(script(name), "npu", options)
    # In half precision the CPU rounds at other places; what both follow is float32.
    cpu = losses(script(name), "cpu", without_autocast(options))
    torch.testing.assert_close(npu, cpu, rtol=0, atol=tolerance)
    assert npu[-1] < npu[0]


def test_scripts_import_nothing_of_opwright() -> None:
    texts = [(SCRIPTS / f"{name}.py").read_text(encoding="utf-8") for name in FILES]
    assert not [text for text in texts if "opwright" in text]
