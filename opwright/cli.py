"""The `opwright` command: each verb reads its options here and calls the module that does the work.

opwright.command_line.verbs has the exit codes and the examples of --help.
"""

from __future__ import annotations

import difflib
import importlib
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path  # noqa: TC003 - Typer reads the annotations at run time
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from opwright import __version__
from opwright.command_line.errors import refusals
from opwright.command_line.output import Json, print_error, print_json
from opwright.command_line.verbs import VERBS
from opwright.command_line.waiting import show_waiting
from opwright.errors import OpwrightError
from opwright.twin.options import Devices, Kernels, Memory, Soc, read_settings
from opwright.twin.settings import check_graph_compiler, check_trace
from opwright.twin.user_kernels.command import kernels_app

if TYPE_CHECKING:
    from typer._click import (
        Command,
        Context,
    )  # Typer brings its own copy of click and does not export it

    from opwright.coverage import Status
    from opwright.twin.launch import Target

__all__ = ["app", "main"]

# The verbs of the operator kit: module and function of each, or a group of verbs. They are imported
# when they are used, because some need half a second, which `opwright run` must not pay.
KIT = {
    "new": ("opwright.project.command", "new"),
    "add": ("opwright.project.command", "add"),
    "gen": ("opwright.kit.packaging.gen_command", "gen"),
    "build": ("opwright.kit.packaging.command", "build"),
    "check": ("opwright.check.command", "check"),
    "import": ("opwright.kit.formats.command", "import_"),
    "export": ("opwright.kit.formats.command", "export"),
    "proto": ("opwright.graph_engine.prototypes.command", "proto"),
    "graph": ("opwright.graph_report.command", "graph"),
    "compare": ("opwright.compare.command", "compare"),
    "dump": ("opwright.twin.dump.command", "dump"),
    "op-plugin": ("opwright.kit.op_plugin.command", "op_plugin_app"),
    "lint": ("opwright.lint.command", "lint"),
    "ascendc": ("opwright.ascendc.command", "ascendc_app"),
}


ORDER = "--order"
USUAL_ORDER = "races"  # opwright.twin.explore.choice has the others


class Verbs(TyperGroup):
    """The verbs of this file, and those of the kit, with their examples."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Return all verbs: those of the kit first, in the order in which they are used."""
        return [*KIT, *super().list_commands(ctx)]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Return a verb with its examples; one of the kit is imported now."""
        found = kit_verb(cmd_name) if cmd_name in KIT else super().get_command(ctx, cmd_name)
        if found is not None:
            add_examples(found, cmd_name)
        return found

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Find the verb of a command line; for a likely typo, name the verbs that are meant."""
        names = self.list_commands(ctx)
        near = difflib.get_close_matches(args[0], names) if args[0] not in names else ()
        if near:
            meant = " or ".join(map(repr, near))
            ctx.fail(f"No such command {args[0]!r}. Did you mean {meant}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Context) -> object:
        """Run the verb; with --json its error is JSON on standard output as well."""
        try:
            with refusals():
                return super().invoke(ctx)
        except OpwrightError as error:
            print_error(ctx.meta, error)
            raise


def kit_verb(name: str) -> Command:
    """Import a verb of the kit."""
    module, function = KIT[name]
    made = getattr(importlib.import_module(module), function)
    if isinstance(made, typer.Typer):
        group = typer.main.get_command(made)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name=name)(made)
    return typer.main.get_command(single)


def add_examples(command: Command, path: str) -> None:
    """Put the examples of a verb, or of each in a group, at the end of its --help."""
    if isinstance(command, TyperGroup):
        for name, each in command.commands.items():
            add_examples(each, f"{path} {name}")
    elif path in VERBS:
        # Text in brackets is no markup.
        lines = [each.replace("[", r"\[") for each in VERBS[path].examples]
        command.epilog = "\n  ".join(["Examples:", *lines])


class RunCommand(TyperCommand):
    """`opwright run`, where --order can stand alone or have a value behind "="."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Give --order its usual value where it has none; the command's own arguments stay."""
        takes_value = {
            name
            for option in self.params
            if isinstance(option, TyperOption) and not option.is_flag
            for name in option.opts
        } - {ORDER}
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            if args[at] == ORDER:
                args = [*args[:at], f"{ORDER}={USUAL_ORDER}", *args[at + 1 :]]
            at += 2 if args[at] in takes_value else 1
        return super().parse_args(ctx, args)


def say_version(wanted: bool) -> None:  # noqa: FBT001 - Typer calls it
    """Print the version, which torch it was built for and what is installed, and end."""
    if wanted:
        from opwright.pairs import built_for, find_installed

        typer.echo(f"opwright {__version__}, built for torch {built_for() or 'unknown'}")
        for package in ("torch", "torch_npu"):
            typer.echo(f"{package} {find_installed(package) or 'is not installed'}")
        raise typer.Exit


app = typer.Typer(
    name="opwright",
    cls=Verbs,
    help="Write a custom PyTorch operator for Ascend NPUs once, and run it without an NPU.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
twin_app = typer.Typer(help="About the twin itself.", no_args_is_help=True)
app.add_typer(twin_app, name="twin")
app.add_typer(kernels_app, name="kernels")


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Write a custom PyTorch operator for Ascend NPUs once, and run it without an NPU."""


# Everything after the first word that is no option belongs to the command, also without --.
@app.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
def run(  # noqa: PLR0913 - each is an option
    command: Annotated[
        list[str], typer.Argument(metavar="-- CMD...", help="Program and its arguments.")
    ],
    *,
    soc: Soc = None,
    devices: Devices = None,
    memory: Memory = None,
    sync: Annotated[bool, typer.Option("--sync", help="Run each task at its call.")] = False,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all calls as a Chrome trace.")
    ] = None,
    kernels: Kernels = None,
    graph_compiler: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="How max-autotune graphs run: eager (default) or inductor."
        ),
    ] = None,
    guard: Annotated[
        bool, typer.Option("--guard", help="Find what kernels do outside of their operands.")
    ] = False,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="[=HOW]",
            help="Find what streams do to the same memory unordered; "
            "=explore[:SEED,N] also runs N orders of the tasks (default 0,10) and compares them; "
            "=replay:FILE runs that of --repro.",
        ),
    ] = None,
    repro: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --order=explore: write the smallest order that fails."
        ),
    ] = None,
    kernel_checks: Annotated[
        bool, typer.Option("--kernel-checks", help="Check each instruction of Ascend C kernels.")
    ] = False,
    twin: Annotated[
        bool | None,
        typer.Option(
            "--twin/--real",
            help="Where to run (default: a real NPU if there is one).",
            show_default=False,
        ),
    ] = None,
) -> NoReturn:
    """Run a command on the twin, or on a real NPU where there is one."""
    from opwright.twin.explore import check_options, parse_choice, run_orders
    from opwright.twin.launch import launch

    choice = None if order is None else parse_choice(order)
    check_options(choice, sync=sync, real=twin is False, repro=repro)
    settings = replace(
        read_settings(soc, devices, memory, kernels),
        sync=sync or None,
        trace=None if trace is None else check_trace(trace, where="--trace"),
        graph_compiler=graph_compiler
        and check_graph_compiler(graph_compiler, where="--graph-compiler"),
        guard=guard or None,
        order=None if choice is None else True,
        kernel_checks=kernel_checks or None,
    )
    wish: Target | None = None if twin is None else "twin" if twin else "real"

    def say(line: str) -> None:
        typer.echo(f"opwright: {line}", err=True)

    if choice is not None and choice != "races":
        raise typer.Exit(run_orders(command, settings, choice, say, repro))
    launch(command, settings, wish, say)


@app.command()
def doctor(*, as_json: Json = False) -> None:
    """Report what is installed, what is wrong and how to mend it (then the exit code is 1)."""
    from opwright.twin.doctor import diagnose, gather, to_json, to_text

    with show_waiting("looking at what is installed, trying the twin"):
        facts = gather(os.environ)
    findings = diagnose(facts)
    typer.echo(to_json(facts, findings) if as_json else to_text(facts, findings))
    raise typer.Exit(any(finding.is_problem for finding in findings))


@app.command()
def enable(
    *,
    prefer: Annotated[
        bool, typer.Option("--prefer", help="Also where the environment names a real CANN.")
    ] = False,
) -> None:
    """Make the twin the CANN of this Python environment: plain `python` runs on it from now on."""
    from opwright import other_cann
    from opwright.twin import enabling
    from opwright.twin.toolkit import default_toolkit

    folder = enabling.site_packages()
    enabling.enable(folder, prefer=prefer)
    where = "always" if prefer else "where no CANN is"
    typer.echo(f"torch_npu runs on the twin, {where}, in the environment of {folder}")
    other = next(other_cann.places(os.environ, default_toolkit().root), None)
    if other and not prefer:
        typer.echo(
            f"in this shell it does not: its variables name the CANN in {other}, which goes first; "
            "`opwright enable --prefer` puts the twin before it"
        )


@app.command()
def disable() -> None:
    """Take back what `opwright enable` did."""
    from opwright.twin import enabling

    folder = enabling.site_packages()
    change = "no longer runs" if enabling.disable(folder) else "did not run"
    typer.echo(f"torch_npu {change} on the twin by itself in the environment of {folder}")


@twin_app.command()
def env(
    *,
    soc: Soc = None,
    devices: Devices = None,
    memory: Memory = None,
    shell: Annotated[
        bool, typer.Option("--shell", help='Print export lines for `eval "$(...)"`.')
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the environment variables that put a process on the twin."""
    from opwright.twin.environment import find_changed
    from opwright.twin.launch import launch_environment

    result = launch_environment(os.environ, read_settings(soc, devices, memory))
    variables = dict(sorted(find_changed(os.environ, result).items()))
    if as_json:
        print_json({"environment": variables})
        return
    for name, value in variables.items():
        typer.echo(f"export {name}={shlex.quote(value)}" if shell else f"{name}={value}")


@twin_app.command()
def coverage(
    *,
    as_json: Json = False,
    status: Annotated[
        str | None,
        typer.Option(
            "--list",
            metavar="STATUS",
            help="List the functions that are implemented, refused or absent.",
        ),
    ] = None,
    graphs: Annotated[
        bool,
        typer.Option(
            "--graphs",
            help="List the operators that run in eager mode and not in max-autotune's graphs, "
            "or the reverse.",
        ),
    ] = False,
) -> None:
    """Count the functions of CANN that torch_npu needs: implemented, refused, absent."""
    from opwright.coverage import (
        check_status,
        differences_to_json,
        measure,
        measure_graphs,
        to_json,
        to_text,
    )

    if graphs and status is not None:
        message = "name one of --list and --graphs: operators of graphs have no status"
        raise typer.BadParameter(message)
    if graphs:
        differences = measure_graphs()
        if as_json:
            typer.echo(differences_to_json(differences))
        for each in () if as_json else differences:
            typer.echo(f"{each.runs} only  {each.operator}  lacks {', '.join(each.missing)}")
        return
    wanted: Status | None = None if status is None else check_status(status)
    functions = measure()
    if as_json:
        typer.echo(to_json(functions, wanted))
    elif wanted is not None:
        for function in functions:
            if function.status == wanted:
                typer.echo(f"{function.library}  {function.name}")
    else:
        typer.echo(to_text(functions))


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit code 2."""
    try:
        with refusals():
            app()
    except OpwrightError as error:
        typer.echo(str(error), err=True)
        discard_output()
        sys.exit(2)


def discard_output() -> None:
    """Discard what standard output has not taken: Python would try once more, and exit with 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
