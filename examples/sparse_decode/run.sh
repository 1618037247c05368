#!/usr/bin/env bash
# Decodes with sparse attention on an NPU or its twin: compares the modes with plain PyTorch, measures, and draws.
#
#   bash run.sh             contexts of 4 K to 128 K tokens
#   bash run.sh test        a smaller model, and 4 K and 8 K tokens
#   bash run.sh clean       removes what these made
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu. matplotlib, which draws the
# plot, is installed into build/ if that environment has none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh

plotting() { PYTHONPATH="$PWD/build/packages" "$python" "$@"; }

# decode [OPTION OF decode.py]
decode() {
    plotting -c 'import matplotlib' 2>/dev/null ||
        logged build/pip.log "$python" -m pip install --quiet --disable-pip-version-check --target build/packages 'matplotlib>=3.8,<4'
    # torch_npu and TorchAir warn about formats and modes; nothing here depends on that.
    opwright run -- "$python" -W ignore decode.py --results build/results.json "$@" 2>build/decode.log ||
        { tail -n 40 build/decode.log >&2; fail "decode.py failed"; }
    plotting report.py build/results.json build/plot.svg
}

show() {
    no_options "$@"
    decode
}

check() {
    no_options "$@"
    decode --quick
}

verbs "$@"
