#!/usr/bin/env bash
# Trains one model on several NPUs, or twins of them, in three ways, and compares the losses with those of one CPU process.
#
#   bash run.sh             two ranks
#   bash run.sh RANKS       2, 4 or 8 ranks
#   bash run.sh test        two ranks, then four
#   bash run.sh clean       removes what these made
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
# A model as small as this gains nothing from more threads, which wait for each other where other programs compute.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

# train NAME COMMAND...: the losses go to build/NAME.json, torch_npu's warnings to the log.
train() {
    local name=$1
    shift
    logged "build/$name.log" "$@" --losses "build/$name.json"
}

show() {
    local ranks=${1:-2} way
    [ $# -le 1 ] || unknown "$2"
    case "$ranks" in
        2 | 4 | 8) ;;
        [0-9]*) fail "the batch is divided by 2, 4 or 8 ranks, not by '$ranks'" ;;
        *) unknown "$ranks" ;;
    esac
    train cpu env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$python" train.py --device cpu
    for way in ddp fsdp fsdp1; do
        train "$way" opwright run --devices "$ranks" -- \
            "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" train.py --parallel "$way"
    done
    "$python" compare.py build/cpu.json build/ddp.json build/fsdp.json build/fsdp1.json
}

check() {
    no_options "$@"
    show 2
    show 4
}

verbs "$@"
