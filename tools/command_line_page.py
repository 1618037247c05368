"""Write docs/command_line.md: the verbs of `opwright`, their exit codes, JSON and examples.

    python tools/command_line_page.py

Verbs and options are read from the command line itself, exit codes and examples from its table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup, TyperOption

from opwright.cli import app
from opwright.command_line.verbs import EXIT_CODES, VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.core import TyperCommand

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "command_line.md"

HEAD = """# The command line

`opwright VERB --help` has the options of a verb, and its examples; `python -m opwright` is the same
command. `python tools/command_line_page.py` writes this page from the verbs.

## Verbs
"""

TAIL = """## For scripts

**Results** are on standard output; what is for people (what was read, warnings, errors, progress)
is on standard error. `build` and `op-plugin build` print their steps, and the wheel's path as the
last line.

**`--json`** prints one JSON object on standard output. `check` and `graph` run your code, which may
print as well: theirs is `--json FILE`, and `--json -` prints it (`graph`: an array, with an object
per graph). Where a text or file is the result, `text` has it, or is null and `output` names the
file that was written (`-o`). If a verb with the plain `--json` ends with exit code 2, the object
says why:

```json
{
  "error": {
    "id": "OPW-P001",
    "title": "not a project",
    "where": "DIR",
    "got": "no such folder",
    "allowed": [],
    "fix": "..."
  }
}
```

with `errors` and `warnings`, each of the same form, if there are several. Options that do not
exist, or have no valid form, are reported on standard error only; the exit code is 2.

**Options** are spelled alike: `-o, --out` for where to write, `-j, --jobs` for compilers at a time,
`--op` for one operator, `--soc`, `--devices`, `--memory` and `--kernels` for the twin.

**A reader that goes away** (`opwright lint . | head`) ends a verb with exit code 1, without a word.

## Completion

```
opwright --install-completion   # for the shell that calls it: bash, zsh, fish or PowerShell
opwright --show-completion      # print it, to put it where your shell reads it
```

A new shell then completes verbs and options.

## Colours and progress

Colours, and what is shown while something takes its time, are for terminals: a pipe or a file gets
plain text. `NO_COLOR=1` turns colours off on terminals, too.
"""


def commands(group: TyperGroup, path: str = "") -> Iterator[tuple[str, TyperCommand]]:
    """Find all verbs: the words after `opwright`, and the command."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, TyperGroup):
            yield from commands(found, f"{path}{name} ")
        else:
            yield f"{path}{name}", found  # type: ignore[misc] # Typer makes no others


def all_commands() -> dict[str, TyperCommand]:
    """Return all verbs by their words."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return dict(commands(group))


def json_form(command: TyperCommand) -> str:
    """Return how a verb's JSON is asked for; empty if it has none."""
    for option in command.params:
        if "--json" in option.opts:
            assert isinstance(option, TyperOption)
            return "`--json`" if option.is_flag else f"`--json {option.metavar}`"
    return ""


def table() -> list[str]:
    """Return the table of verbs."""
    lines = ["| verb | does | exit code 1 | JSON |", "|---|---|---|---|"]
    for name, command in all_commands().items():
        verb = VERBS[name]
        code = "the exit code is that of the command" if verb.passes else verb.one or "never"
        does = command.get_short_help_str(limit=200).removesuffix(".")
        lines.append(f"| `{name}` | {does} | {code} | {json_form(command)} |")
    return lines


def page() -> str:
    """Return the text of the page."""
    codes = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    examples = [example for verb in VERBS.values() for example in verb.examples]
    parts = [
        HEAD,
        "\n".join(table()),
        "\n## Exit codes\n",
        "\n".join(["| exit code | means |", "|---|---|", *codes]),
        "\n## Examples\n",
        "\n".join(["```", *examples, "```", ""]),
        TAIL,
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
