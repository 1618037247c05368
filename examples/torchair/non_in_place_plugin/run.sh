#!/usr/bin/env bash
# Completes npu_group_norm_swish_grad and checks it in every mode, on the twin or on an NPU.
#
#   bash run.sh             both forms of the sample
#   bash run.sh by_hand     each deliverable written out
#   bash run.sh declared    declared with opwright
#
# It uses the `opwright` on the PATH and the Python beside it. What it writes is in build/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

command -v opwright >/dev/null || { echo "run.sh: opwright is not on the PATH; activate its environment first" >&2; exit 1; }
python=$(dirname "$(command -v opwright)")/python
export XDG_CACHE_HOME=$PWD/build/cache TORCHINDUCTOR_CACHE_DIR=$PWD/build/inductor PYTHONDONTWRITEBYTECODE=1
mkdir -p build

# Nothing is built: the operator is torch_npu's, a plugin is Python.
by_hand() {
    PYTHONPATH=by_hand:.. opwright run -- "$python" verify.py
}

declared() {
    PYTHONPATH=declared:.. opwright run -- "$python" verify.py
}

forms=("$@")
[ $# -gt 0 ] || forms=(by_hand declared)
for form in "${forms[@]}"; do
    case "$form" in
        by_hand | declared) printf '\n== %s\n' "$form"; "$form" ;;
        *) echo "run.sh: unknown form '$form'; by_hand and declared are available" >&2; exit 1 ;;
    esac
done
