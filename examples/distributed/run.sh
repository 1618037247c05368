#!/usr/bin/env bash
# Trains one model on several NPUs (or twins of them) in three ways, and compares the losses with those of one CPU
# process.
#
#   bash run.sh           two ranks
#   bash run.sh RANKS     as many
#
# It uses the environment of the `opwright` on the PATH: its Python, torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }

ranks=${1:-2}
[[ $ranks =~ ^(2|4|8)$ ]] || fail "the batch is divided by 2, 4 or 8 ranks, not by '$ranks'"
command -v opwright >/dev/null || fail "opwright is not on the PATH; activate its environment first"
python=$(dirname "$(command -v opwright)")/python
mkdir -p build

# train NAME COMMAND...: torch_npu's warnings go to the log.
train() {
    local name=$1
    shift
    "$@" --losses "build/$name.json" >"build/$name.log" 2>&1 || { tail -n 40 "build/$name.log" >&2; fail "$name failed"; }
}

train cpu env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$python" train.py --device cpu
for way in ddp fsdp fsdp1; do
    train "$way" opwright run --devices "$ranks" -- \
        "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" train.py --parallel "$way"
done
"$python" compare.py build/cpu.json build/ddp.json build/fsdp.json build/fsdp1.json
