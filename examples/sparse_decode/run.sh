#!/usr/bin/env bash
# Decodes with sparse attention on the NPU's twin: compares the modes, measures, and draws.
#
#   bash run.sh            contexts of 4 K to 128 K tokens: a few minutes
#   bash run.sh --quick    a smaller model, and 4 K and 8 K tokens: half a minute
#
# It uses the environment of the `opwright` on the PATH: its Python, torch and torch_npu. matplotlib, which draws the plot,
# is installed into build/ if that environment has none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '2,8s/^# \{0,1\}//p' run.sh; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }

options=()
for argument in "$@"; do
    case "$argument" in
        --quick) options+=("$argument") ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; fail "unknown argument '$argument'" ;;
    esac
done

command -v opwright >/dev/null || fail "opwright is not on the PATH; activate its environment first"
python=$(dirname "$(command -v opwright)")/python

mkdir -p build
plotting() { PYTHONPATH="$PWD/build/packages" "$python" "$@"; }
plotting -c 'import matplotlib' 2>/dev/null ||
    "$python" -m pip install --quiet --disable-pip-version-check --target build/packages 'matplotlib>=3.8,<4' 2>build/pip.log ||
    { cat build/pip.log >&2; fail "matplotlib cannot be installed"; }

# torch_npu and TorchAir warn about formats and modes; nothing here depends on that.
opwright run -- "$python" -W ignore decode.py --results build/results.json "${options[@]}" 2>build/decode.log ||
    { tail -n 40 build/decode.log >&2; fail "decode.py failed"; }
plotting report.py build/results.json build/plot.svg
