"""Options that several verbs have."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["ForTorch"]

ForTorch = Annotated[
    str | None,
    typer.Option(
        "--torch",
        metavar="VERSION",
        help='Minor version of torch that the sources are for, for example "2.10" (default: as '
        "pyproject.toml says, or the installed one).",
        show_default=False,
    ),
]
