#!/usr/bin/env bash
# Builds my_inplace and checks it in every mode, on the twin or on an NPU.
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

# Steps 1 and 3 are C++: a library, compiled against the torch and torch_npu that it runs with.
by_hand() {
    opwright run -- "$python" by_hand/step3_adapter/setup.py -q build_ext \
        --build-lib build/library --build-temp build/objects >build/compile.log 2>&1 ||
        { cat build/compile.log >&2; exit 1; }
    MY_OPS_LIBRARY=$(ls build/library/*.so) PYTHONPATH=by_hand:.. \
        opwright run --kernels by_hand/step2_operator/kernel.py -- "$python" verify.py
}

# Nothing is built: the reference function of the declaration runs as the device kernel.
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
