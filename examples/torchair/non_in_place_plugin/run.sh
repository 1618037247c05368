#!/usr/bin/env bash
# Completes npu_group_norm_swish_grad and checks it in every mode, on the twin or on an NPU.
#
#   bash run.sh             both forms of the sample
#   bash run.sh by_hand     each deliverable written out
#   bash run.sh declared    declared with opwright
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../forms.sh

# Nothing is built: the operator is torch_npu's, a plugin is Python.
by_hand() {
    PYTHONPATH=by_hand:.. opwright run -- "$python" verify.py
}

declared() {
    PYTHONPATH=declared:.. opwright run -- "$python" verify.py
}

run_forms "$@"
