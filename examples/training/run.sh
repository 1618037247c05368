#!/usr/bin/env bash
# Trains four small models on an NPU or its twin and on the CPU, and compares the losses of all steps.
#
#   bash run.sh             the four scripts in float32
#   bash run.sh test        also mixed precision, packed sequences, recomputation and other optimizers
#   bash run.sh clean       removes what these made
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
# Models as small as these gain nothing from more threads, which wait for each other where other programs compute.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

# train DEVICE RUN COMMAND...: the script of the run with its options; torch_npu's warnings go to the log.
train() {
    local device=$1 name=$2 script options
    read -r script options <<<"$name"
    shift 2
    # shellcheck disable=SC2086 # the options are words
    logged "build/$name.$device.log" "$@" "$python" -W ignore "$script.py" $options --device "$device" \
        --losses "build/$name.$device.json"
}

# compare RUN...: trains each on both devices.
compare() {
    local run
    for run in "$@"; do
        train npu "$run" opwright run --
        train cpu "$run" env TORCH_DEVICE_BACKEND_AUTOLOAD=0 # plain torch: torch_npu is not even imported
    done
    "$python" compare.py build "$@"
}

show() {
    no_options "$@"
    compare llama mixture diffusion resnet
}

check() {
    no_options "$@"
    compare llama mixture diffusion resnet \
        'llama --packed --recompute' 'llama --amp bfloat16 --optimizer fused' 'llama --amp float16' \
        'mixture --amp bfloat16' 'mixture --optimizer foreach' \
        'diffusion --amp bfloat16' 'diffusion --amp float16 --optimizer foreach' \
        'resnet --amp float16' 'resnet --optimizer foreach'
}

verbs "$@"
