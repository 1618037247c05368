#!/usr/bin/env bash
# Trains four small models on NPU (or its twin) and on the CPU, and compares the losses of all steps.
#
#   bash run.sh            the four scripts in float32: half a minute to a minute on one core
#   bash run.sh --all      also mixed precision, packed sequences, recomputation and other optimizers
#
# It uses the environment of the `opwright` on the PATH: its Python, torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '2,7s/^# \{0,1\}//p' run.sh; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }

runs=(llama mixture diffusion resnet)
for argument in "$@"; do
    case "$argument" in
        --all) runs+=(
            'llama --packed --recompute' 'llama --amp bfloat16 --optimizer fused' 'llama --amp float16'
            'mixture --amp bfloat16' 'mixture --optimizer foreach'
            'diffusion --amp bfloat16' 'diffusion --amp float16 --optimizer foreach'
            'resnet --amp float16' 'resnet --optimizer foreach') ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; fail "unknown argument '$argument'" ;;
    esac
done

command -v opwright >/dev/null || fail "opwright is not on the PATH; activate its environment first"
python=$(dirname "$(command -v opwright)")/python
mkdir -p build

# train DEVICE RUN COMMAND...: the script of the run with its options; torch_npu's warnings go to the log.
train() {
    local device=$1 name=$2 script options
    read -r script options <<<"$name"
    shift 2
    # shellcheck disable=SC2086 # the options are words
    "$@" "$python" -W ignore "$script.py" $options --device "$device" --losses "build/$name.$device.json" \
        >"build/$name.$device.log" 2>&1 ||
        { tail -n 40 "build/$name.$device.log" >&2; fail "$name failed on $device"; }
}

for run in "${runs[@]}"; do
    train npu "$run" opwright run --
    train cpu "$run" env TORCH_DEVICE_BACKEND_AUTOLOAD=0 # plain torch: torch_npu is not even imported
done
"$python" compare.py build "${runs[@]}"
