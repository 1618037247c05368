"""The command line as a whole: every verb as a newcomer calls it, and as a script does."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from opwright.cli import KIT, app
from opwright.command_line.verbs import VERBS
from opwright.pairs import installed_minor
from tools import command_line_page

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)
NAMES = GROUP.list_commands(typer.Context(GROUP))
COMMANDS = command_line_page.all_commands()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WIDTH = 76  # of an example, so that --help does not break it
LIMIT = 120
HEADER = "REG_OP({}).INPUT(x, TensorType({{DT_FLOAT}})){}.OP_END_FACTORY_REG({})\n"
OUTPUT = ".OUTPUT(y, TensorType({DT_FLOAT}))"
LIST_OF_LISTS = ".REQUIRED_ATTR(p, ListListInt)"
# Text: files of users.
FILES = {
    "good.h": HEADER.format("Good", OUTPUT, "Good"),
    "part.h": HEADER.format("Part", OUTPUT + LIST_OF_LISTS, "Part")
    + HEADER.format("Loop", ".GRAPH(body)" + OUTPUT, "Loop"),
    "open.py": "x = (\n",
    "leaves.py": "raise SystemExit(0)\n",
    "declared.py": (
        "import opwright as ow\n\nops = ow.OperatorSet('t_ns')\n\n\n"
        "@ops.operator('t(Tensor x) -> Tensor', dtypes='float32', requires=['x.ndim > 0'])\n"
        "def t(x):\n    return x * 2\n"
    ),
    "faulty/a.cpp": 'TORCH_LIBRARY(n, m) {\n  m.def("f(Tensor x) -> ()");\n}\n',
    "kit/op_plugin_functions.yaml": "- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n",
    "kit/t_converter.py": (
        "import torchair\nfrom torchair import register_fx_node_ge_converter\n\n\n"
        "@register_fx_node_ge_converter(torch.ops.npu.npu_t.default)\n"
        "def convert(x, meta_outputs=None): ...\n"
    ),
    "tree/op_plugin/config/op_plugin_functions.yaml": (
        f"all_version: [v{installed_minor()}]\ncustom:\n  - func: npu_o(Tensor x) -> Tensor\n"
    ),
    "tree/op_plugin/python/meta/_meta_registrations.py": "m = None\n",
    "project/pyproject.toml": '[tool.opwright]\ndeclaration = "d.py"\npackage = "t_ns"\n',
    "nothing.py": "",
    "nothing.h": "",
    "nothing.yaml": "",
    "nothing.json": "",
    "folder/kept": "",
}
NOISE = bytes(range(256)) * 8  # no text: zeros, and no UTF-8
SUFFIXES = (".py", ".h", ".cpp", ".yaml", ".json", ".air", "")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the tests name."""
    folder = tmp_path_factory.mktemp("place")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "project" / "d.py").write_text(FILES["declared.py"], encoding="utf-8")
    for suffix in SUFFIXES:
        (folder / f"noise{suffix}").write_bytes(NOISE)
    return folder


def environment(**variables: str) -> dict[str, str]:
    """Return this process's variables without those of the twin."""
    own = ("OPWRIGHT_", "ASCEND_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(own)}
    return kept | {"TERM": "xterm-256color"} | variables


def opwright(
    words: str, folder: Path, *, prepare: Callable[[], None] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "opwright", *shlex.split(words)],
        cwd=folder,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        preexec_fn=prepare,
        check=False,
    )


def on_a_terminal(words: str, folder: Path, **variables: str) -> tuple[str, str]:
    """Return what a verb prints on standard output, a pipe, and on a terminal, standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "opwright", *shlex.split(words)],
        cwd=folder,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # so Linux says that the other end is closed
            break
        shown += part
    os.close(ours)
    printed, _ = process.communicate(timeout=LIMIT)
    return printed.decode(), shown.decode()


def test_the_verbs_are_these() -> None:
    assert [*KIT, "run", "doctor", "enable", "disable", "twin", "kernels"] == NAMES
    assert list(VERBS) == list(COMMANDS)


def test_help_lists_every_verb() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0, result.output
    listed = {line.split()[1] for line in result.output.splitlines() if line.startswith("│ ")}
    assert set(NAMES) <= listed


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself(verb: str) -> None:
    result = CliRunner().invoke(app, [*verb.split(), "--help"], terminal_width=80)
    assert result.exit_code == 0, result.output
    assert f" {verb} [OPTIONS] " in result.output
    shown = result.output.partition("Examples:")[2]
    assert all(example in shown for example in VERBS[verb].examples), shown


@pytest.mark.parametrize("verb", VERBS)
def test_examples_name_options_of_their_verb(verb: str) -> None:
    examples = VERBS[verb].examples
    known = {name for each in COMMANDS[verb].params for name in each.opts}
    assert 1 <= len(examples) <= 3
    for example in examples:
        assert len(example) <= WIDTH
        inner = example.partition("$(")[2].partition(")")[0]
        ours = shlex.split(inner or example, comments=True)
        words = ours[: ours.index("--")] if "--" in ours else ours
        assert " ".join(words).startswith(f"opwright {verb}")
        options = {word for word in words if word.startswith("-") and word != "-"}
        assert options <= known


@pytest.mark.parametrize("name", NAMES)
def test_the_docs_mention_a_verb(name: str) -> None:
    assert any(f"opwright {name}" in page.read_text(encoding="utf-8") for page in PAGES)


def test_the_page_is_fresh() -> None:
    fresh = command_line_page.PAGE.read_text(encoding="utf-8") == command_line_page.page()
    assert fresh, "run python tools/command_line_page.py"


# One meaning has one spelling, whatever the verb.
SPELLINGS = {
    "out": {"-o", "--out"},
    "output": {"-o", "--out"},
    "jobs": {"-j", "--jobs"},
    "as_json": {"--json"},
    "json_form": {"--json"},
    "json_file": {"--json"},
    "page": {"--html"},
    "op": {"--op"},
    "verbose": {"-v", "--verbose"},
}


@pytest.mark.parametrize("verb", [*VERBS])
def test_an_option_is_spelled_as_elsewhere(verb: str) -> None:
    for option in COMMANDS[verb].params:
        if option.name in SPELLINGS and option.opts[0].startswith("-"):
            assert set(option.opts) == SPELLINGS[option.name], option.name


# Words, and what is said on standard error; the exit code is 2.
MISTAKES = {
    "--nonsense": "No such option",
    "chekc": "Did you mean 'check'",
    "import": "Missing argument",
    "import nowhere.h": "does not exist",
    "import noise.py": "OPW-S005",
    "import noise.yaml": "OPW-S005",
    "import nothing.h": "OPW-S005",
    "import good.h -o folder": "OPW-S009",
    "import good.h -o /proc/x.py": "where:   /proc/x.py",
    "op-plugin patch kit --tree tree -o /proc/x": "OPW-V001",
    "import good.h --namespace '1 2'": "OPW-D008",
    "export noise.py": "OPW-P003",
    "export open.py": "OPW-P003",
    "proto gen noise.h": "OPW-S008",
    "proto show Ad": "OPW-S010",
    "lint nowhere": "OPW-C060",
    "lint faulty -o /proc/x.json": "OPW-C062",
    "graph noise.json": "OPW-G001",
    "graph nothing.json": "OPW-G001",
    "graph noise.air": "OPW-G005",
    "gen folder": "OPW-P001",
    "gen noise": "OPW-P001",
    "build nowhere": "OPW-P001",
    "add --project folder x": "OPW-P001",
    "new project": "OPW-P011",
    "new /proc/x": "OPW-P013",
    "run": "Missing argument",
    "run ./noise": "OPW-T021",
    "run --kernels leaves.py -- true": "OPW-K025",
    "kernels build noise.py": "OPW-K025",
    "kernels build noise.cpp": "OPW-K024",
    "kernels show noise.h": "OPW-K002",
    "op-plugin build noise.yaml": "OPW-O001",
    "op-plugin patch kit --tree folder": "OPW-O",
    "check nowhere.py": "OPW-C001",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_ends_with_2_and_a_message(words: str, place: Path) -> None:
    done = opwright(words, place)
    assert done.returncode == 2, done.stdout + done.stderr
    assert MISTAKES[words] in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


# Words that end a verb with exit code 1; those of the others are in the tests named here.
FOUND = {
    "gen": "gen project --check",
    "import": "import part.h",
    "export": "export declared.py",
    "proto gen": "proto gen part.h",
    "op-plugin patch": "op-plugin patch kit --tree tree",
    "lint": "lint faulty",
}
FOUND_ELSEWHERE = {
    "check": "check/test_command.py",
    "compare": "compare/test_compare.py",
    "doctor": "twin/test_doctor.py",
}


def test_the_table_says_which_verbs_end_with_1() -> None:
    assert {verb for verb in VERBS if VERBS[verb].one} == {*FOUND, *FOUND_ELSEWHERE}
    assert all((ROOT / "tests" / file).is_file() for file in FOUND_ELSEWHERE.values())


@pytest.mark.parametrize("verb", FOUND)
def test_what_was_found_ends_with_1_and_json_says_it(verb: str, place: Path) -> None:
    done = opwright(f"{FOUND[verb]} --json", place)
    assert done.returncode == 1, done.stdout + done.stderr
    assert isinstance(json.loads(done.stdout), dict)


# Words after which standard output is one JSON object with this key.
AS_JSON = {
    "new": ("new made", "folder"),
    "add": ("add --project project other", "line"),
    "import": ("import good.h", "text"),
    "proto gen": ("proto gen good.h -o raw.py", "output"),
    "proto show": ("proto show Data", "prototypes"),
    "lint": ("lint good.h", "findings"),
    "kernels show": ("kernels show good.h --cpp", "functions"),
    "twin env": ("twin env", "environment"),
    "twin coverage": ("twin coverage", "counts"),
    "build": ("build project --plugin", "wheel"),
}


@pytest.mark.parametrize("verb", AS_JSON)
def test_json_is_all_that_is_on_standard_output(verb: str, place: Path) -> None:
    words, key = AS_JSON[verb]
    done = opwright(f"{words} --json", place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert key in json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "identifier"),
    [("gen folder", "OPW-P001"), ("op-plugin patch kit --tree tree -o /proc/x", "OPW-V001")],
)
def test_an_error_is_json_as_well(words: str, identifier: str, place: Path) -> None:
    done = opwright(f"{words} --json", place)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["id"] == identifier
    assert f"{identifier} {error['title']}" in done.stderr


def test_a_full_disk_is_reported(place: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    words = "import good.h -o new.py"
    # Bytecode that is cut off would stay in the checkout.
    done = opwright(words, place, prepare=limited, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 2
    assert "OPW-S009" in done.stderr
    assert "File too large" in done.stderr
    assert not (place / "new.py").exists()


def test_the_version_names_the_pair() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert re.fullmatch(
        r"opwright \d+\.\d+\.\d+, built for torch (\d+\.\d+)\n"
        r"torch \1\.\S+\n"
        r"torch_npu \1\.\S+\n",
        done.output,
    )


@pytest.mark.parametrize("words", ["kernels show good.h", "--help", "--version"])
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_standard_output_that_takes_nothing_is_reported(
    words: str, unbuffered: str, place: Path
) -> None:
    command = [sys.executable, "-m", "opwright", *shlex.split(words)]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            command,
            cwd=place,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("OPW-V001 "), done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_working_folder_that_is_gone_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    done = opwright("gen", folder, prepare=folder.rmdir)
    assert done.returncode == 2
    assert "where:   the working folder" in done.stderr


def test_a_reader_that_goes_away_is_no_error(place: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "opwright", "kernels", "show", "good.h"]
    done = subprocess.run(
        command, cwd=place, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.h")  # the verb waits for what is written into it
    process = subprocess.Popen(
        [sys.executable, "-m", "opwright", "import", "slow.h"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    with (tmp_path / "slow.h").open("w", encoding="utf-8"):  # once the verb reads it
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=LIMIT)
    assert (process.returncode, "Traceback" in printed) == (130, False), printed


def test_colours_and_progress_are_for_terminals(place: Path) -> None:
    printed, shown = on_a_terminal("gen project --check", place)
    assert "deriving" in shown
    assert "deriving" not in printed
    assert "\x1b" not in printed
    assert "\x1b[31m" in on_a_terminal("chekc", place)[1]
    assert "\x1b[31m" not in on_a_terminal("chekc", place, NO_COLOR="1")[1]


SHELLS = {
    "bash": ({"COMP_WORDS": "opwright bu", "COMP_CWORD": "1"}, "build"),
    "zsh": ({"_TYPER_COMPLETE_ARGS": "opwright op-plugin build --na"}, "--name"),
    "fish": (
        {"_TYPER_COMPLETE_ARGS": "opwright ker", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        "kernels",
    ),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(shell: str, place: Path) -> None:
    variables, expected = SHELLS[shell]
    done = subprocess.run(
        # The shell calls the command by its name, after which the variable is called.
        [sys.executable, "-c", "import sys; sys.argv[0] = 'opwright'; import opwright.__main__"],
        cwd=place,
        env=environment(_OPWRIGHT_COMPLETE=f"complete_{shell}", **variables),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert expected in done.stdout, done.stderr
