"""Brings operators of op-plugin into a process: library, torch_npu's names, Python files."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import torch
import torch_npu

from ._internals import jit_get_schemas_for_operator

__all__ = ["load"]

# torch_npu's name of the module; `import torchair` brings it in.
TORCHAIR = "torch_npu.dynamo.torchair"


def load(package: str, folder: str) -> None:
    """Load the operators of a package: afterwards torch_npu has them as if it was built so.

    Parameters
    ----------
    package
        The import name.
    folder
        Where it is.

    Raises
    ------
    ImportError
        torch_npu, or another package, has an operator or attribute of one of the names.
    """
    metadata = json.loads(Path(folder, "metadata.json").read_text(encoding="utf-8"))
    operators: list[str] = metadata["operators"]
    refuse_existing(package, operators)
    operations = importlib.import_module(f"{package}._loading").load_library()
    for name in dict.fromkeys(each.partition(".")[0] for each in operators):
        setattr(torch_npu, name, getattr(operations, name))
    if metadata["mutating"]:
        register_graph_forms(package, metadata["mutating"])
    for module in metadata["modules"]:
        importlib.import_module(f"{package}.{module}")
    if metadata["converters"]:
        runtime = importlib.import_module(f"{package}._runtime")

        def converters() -> None:
            for module in metadata["converters"]:
                importlib.import_module(f"{package}.{module}")

        runtime.when_imported(TORCHAIR, converters)


def refuse_existing(package: str, operators: list[str]) -> None:
    """Raise if an operator exists already: registering it again would end the process."""
    for operator in operators:
        name, _, overload = operator.partition(".")
        schemas = jit_get_schemas_for_operator(f"npu::{name}")
        if any(schema.overload_name == overload for schema in schemas):
            message = (
                f"{package}: npu::{operator} exists already, in torch_npu "
                f"{torch_npu.__version__} or in a package that was imported before; rename the "
                "operator, or leave one of them out"
            )
            raise ImportError(message)
        if not schemas and hasattr(torch_npu, name):
            message = f"{package}: torch_npu.{name} exists already; rename the operator"
            raise ImportError(message)


def register_graph_forms(package: str, operators: list[str]) -> None:
    """Let torch.compile functionalize operators that write arguments and return them."""
    runtime = importlib.import_module(f"{package}._runtime")
    graphs = importlib.import_module(f"{package}._graphs")
    library: Any = torch.library.Library("npu", "FRAGMENT")  # type: ignore[no-untyped-call]
    libraries.append(library)
    for name in operators:
        operator = runtime.overload("npu", name)
        graphs.register_graph_form(library, operator, runtime.Binder(operator).results)


# Registrations in Python stay as long as these do.
libraries: list[Any] = []
