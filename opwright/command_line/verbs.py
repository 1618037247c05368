"""The table of verbs: examples for --help, and what their exit codes mean.

docs/command_line.md is written from it (tools/command_line_page.py).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXIT_CODES", "VERBS", "Verb"]

# Meanings of exit codes, whatever the verb.
EXIT_CODES = {
    0: "all is well",
    1: "the verb did its work and found something: the table says what",
    2: "it could not do its work: the message says why ([errors.md](errors.md))",
    130: "it was interrupted (Ctrl-C)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """The description of a verb beside its options.

    Parameters
    ----------
    examples
        One to three commands.
    one
        When the exit code is 1; empty if it never is.
    passes
        Whether the exit code is that of the command that it runs.
    """

    examples: tuple[str, ...]
    one: str = ""
    passes: bool = False


# In the order of `opwright --help`.
VERBS = {
    "new": Verb(examples=("opwright new my_ops", "opwright new my_ops --from in-place")),
    "add": Verb(
        examples=(
            'opwright add "rescale(Tensor x, float factor) -> Tensor"',
            "opwright add rope --from in-place",
        )
    ),
    "gen": Verb(
        examples=("opwright gen", "opwright gen --check      # in CI"),
        one="with `--check`: a file would change",
    ),
    "build": Verb(
        examples=(
            "opwright build",
            "opwright build --stable-abi -o wheels",
            "opwright build --plugin      # no compiler",
        )
    ),
    "check": Verb(
        examples=(
            "opwright check .",
            "opwright check operators.py --op softcap --row numerics",
            "opwright check my_ns --load libmy_ops.so --html run.html",
        ),
        one="a cell failed that no entry of the ledger explains",
    ),
    "import": Verb(
        examples=(
            "opwright import op_plugin_functions.yaml --only 'npu_*' -o operators.py",
            "opwright import op_proto.h",
        ),
        one="an operator was left out",
    ),
    "export": Verb(
        examples=("opwright export operators.py", "opwright export operators.py -o op_plugin"),
        one="the files cannot say something that the declaration says",
    ),
    "proto gen": Verb(
        examples=("opwright proto gen build_out/autogen/op_proto.h -o raw_ops.py",),
        one="an operator was left out",
    ),
    "proto show": Verb(
        examples=("opwright proto show Add", "opwright proto show FusedInferAttentionScore --json")
    ),
    "graph": Verb(
        examples=(
            "opwright graph -- python train.py",
            "opwright graph dump.json --graph 2 --svg graph.svg",
            "opwright graph dump.json --json -",
        ),
        passes=True,
    ),
    "compare": Verb(
        examples=(
            "opwright compare -- python step.py",
            "opwright compare --step Decoder.forward --mode captured -- python serve.py",
        ),
        one="a mode differs from eager, or cannot run the step",
    ),
    "dump": Verb(
        examples=("opwright dump dumps", "opwright dump dumps --npy arrays"),
    ),
    "op-plugin build": Verb(
        examples=("opwright op-plugin build op_plugin_patch --name add_custom",)
    ),
    "op-plugin patch": Verb(
        examples=("opwright op-plugin patch my_op --tree op-plugin -o my_op.patch",),
        one="the patch leaves something out",
    ),
    "lint": Verb(
        examples=(
            "opwright lint .",
            "opwright lint csrc --select no-kernel,void-pure",
            "opwright lint . --format sarif -o lint.sarif",
        ),
        one="there are errors or warnings",
    ),
    "ascendc build": Verb(examples=("opwright ascendc build add_custom --soc ascend910b",)),
    "ascendc new": Verb(examples=("opwright ascendc new add_custom.json --out add_custom",)),
    "run": Verb(
        examples=(
            "opwright run -- python train.py",
            "opwright run --devices 4 --memory 8G -- torchrun --nproc-per-node 4 train.py",
            "opwright run --kernels operators.py -- pytest tests",
        ),
        passes=True,
    ),
    "doctor": Verb(examples=("opwright doctor",), one="something is wrong"),
    "enable": Verb(examples=("opwright enable && python train.py",)),
    "disable": Verb(examples=("opwright disable",)),
    "twin env": Verb(
        examples=("opwright twin env", 'eval "$(opwright twin env --shell --devices 4)"')
    ),
    "twin coverage": Verb(
        examples=(
            "opwright twin coverage",
            "opwright twin coverage --list absent",
            "opwright twin coverage --graphs",
        )
    ),
    "kernels build": Verb(
        examples=("opwright kernels build kernels.py", "opwright kernels build mul.cpp --out opp")
    ),
    "kernels show": Verb(
        examples=(
            "opwright kernels show op_proto.h --op AddCustom",
            "opwright kernels show add_custom.h --cpp > add_custom.cpp",
        )
    ),
}
