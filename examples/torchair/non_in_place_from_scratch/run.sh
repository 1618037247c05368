#!/usr/bin/env bash
# Builds my_op and checks it in every mode, on the twin or on an NPU.
#
#   bash run.sh             both forms of the sample
#   bash run.sh by_hand     each deliverable written out
#   bash run.sh declared    declared with opwright
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../forms.sh

# Steps 1 and 3 are C++: a library, compiled against the torch and torch_npu that it runs with.
by_hand() {
    opwright run -- "$python" ../setup.py -q build_ext \
        --build-lib build/library --build-temp build/objects >build/compile.log 2>&1 ||
        { cat build/compile.log >&2; exit 1; }
    MY_OPS_LIBRARY=$(ls build/library/*.so) PYTHONPATH=by_hand:.. \
        opwright run --kernels by_hand/step2_operator/kernel.py -- "$python" verify.py
}

# Nothing is built: the reference function of the declaration runs as the device kernel.
declared() {
    PYTHONPATH=declared:.. opwright run -- "$python" verify.py
}

run_forms "$@"
