"""docs/torchair_features.md has each option, scope and function of the installed TorchAir."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.twin

PAGE = Path(__file__).parents[3] / "docs" / "torchair_features.md"
# Names of the options of the backend npugraph_ex in a form of TorchAir's own.
NOT_SET_BY_USERS = {"npugraphex_config"}


def sections() -> dict[str, str]:
    """Return the page's sections by their titles."""
    _, *parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {title: body for title, _, body in (part.partition("\n") for part in parts)}


def names_in(section: str) -> list[str]:
    """Return the names in the first column of a section's table."""
    rows = [line for line in sections()[section].splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def options_of(config: object, prefix: str = "") -> Iterator[str]:
    """Yield the paths of a configuration's options; `_path` is set as `path`, where it can be."""
    for name, value in vars(config).items():
        if name == "_fixed_attrs" or name in NOT_SET_BY_USERS:
            continue
        if name == "_path":
            if hasattr(config, "path"):
                yield f"{prefix}path"
        elif hasattr(value, "__dict__") and not hasattr(value, "optional"):  # a part, no option
            yield from options_of(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def functions_of() -> Iterator[str]:
    """Yield the names that programs use of torchair and of its parts."""
    for part in ("", ".inference", ".llm_datadist", ".ge", ".ops", ".scope"):
        module = importlib.import_module(f"torchair{part}")
        public = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
        ]
        yield from (f"torchair{part}.{name}" for name in public if name != "CompilerConfig")


def test_the_page_has_every_option_of_a_configuration() -> None:
    options = list(options_of(torchair.CompilerConfig()))
    assert len(options) > 60
    assert sorted(set(options) - set(names_in("torchair.CompilerConfig"))) == []


def test_the_page_has_every_option_of_npugraph_ex() -> None:
    npugraph_ex = pytest.importorskip(
        "torch_npu.dynamo.npugraph_ex.configs.compiler_config",
        reason="in this torch_npu the backend takes TorchAir's configuration",
    )
    options = [name for name in vars(npugraph_ex.CompilerConfig()) if name != "_fixed_attrs"]
    assert sorted(set(options) - set(names_in("The backend npugraph_ex"))) == []


def test_the_page_has_every_scope_and_function() -> None:
    functions = list(functions_of())
    assert len(functions) > 30
    assert sorted(set(functions) - set(names_in("Scopes, operators and functions"))) == []


@pytest.mark.parametrize("section", sections())
def test_each_row_has_one_of_the_answers(section: str) -> None:
    answers = {"works", "recorded", "refused", "TorchAir", "not tried"}
    lines = sections()[section].splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| `")]
    assert {row[1] for row in rows} <= answers
    names = names_in(section)
    assert len(names) == len(set(names))
