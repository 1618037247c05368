"""The models of the ecosystem: models.tsv has a line for each, with its library and task.

Their classes and configurations are the library's, their weights are random, their sizes small.
"""

from __future__ import annotations

import copy
import csv
import importlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Model", "Subject", "make", "models"]

TABLE = Path(__file__).with_name("models.tsv")
BATCH = 2
SEED = 29


@dataclass(frozen=True)
class Model:
    """A line of the table."""

    library: str
    task: str
    name: str

    def __str__(self) -> str:
        return f"{self.library}-{self.task}-{self.name}"


@dataclass(frozen=True)
class Subject:
    """A model in evaluation mode, and what to call it with; `on_cpu` surrounds calls there."""

    module: torch.nn.Module
    inputs: Mapping[str, Any]
    on_cpu: Callable[[], AbstractContextManager[None]] = nullcontext

    def __call__(self) -> Any:  # noqa: ANN401 - each library's own
        """Call the model."""
        device = next(self.module.parameters()).device
        inputs = {
            name: value.to(device) if isinstance(value, torch.Tensor) else value
            for name, value in self.inputs.items()
        }
        surroundings = self.on_cpu() if device.type == "cpu" else nullcontext()
        with surroundings:
            return self.module(**inputs)

    def to_npu(self) -> Subject:
        """Return a copy with the model on the NPU."""
        return replace(self, module=copy.deepcopy(self.module).to("npu"))


def models(library: str, *tasks: str) -> list[Model]:
    """Return the models of a library, of these tasks only if there are any."""
    return [
        each for each in table() if each.library == library and (not tasks or each.task in tasks)
    ]


@cache
def table() -> tuple[Model, ...]:
    """Return the lines of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(Model(**row) for row in csv.DictReader(file, delimiter="\t"))


def make(model: Model) -> Subject:
    """Make a model with random weights, equal in each process."""
    torch.manual_seed(SEED)
    library = importlib.import_module(f"tests.ecosystem.{model.library}_models")
    makers: Mapping[str, Callable[[str], Subject]] = library.MAKERS
    subject = makers[model.task](model.name)
    subject.module.eval()
    return subject
