#!/usr/bin/env bash
# Compares the schemas of the installed wheel with what its operators do, on the twin: `opwright check`.
#
#   bash check.sh VENV [OPERATOR...]
#
# npu_sparse_attention_pto passes; npu_sparse_attention_pto_undeclared, whose schema hides that the caches are written,
# is accused of it, so that the exit code is 1. Without operators both are checked (one to two minutes: the weights of a
# sample are 150 MB).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() { printf 'check.sh: %s\n' "$*" >&2; exit 2; }

[ $# -ge 1 ] && [ -x "$1/bin/python" ] || fail "the first argument is the environment that has the wheel"
command -v opwright >/dev/null || fail "opwright is not on the PATH; activate its environment first"
packages=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
shift
[ $# -gt 0 ] || set -- npu_sparse_attention_pto npu_sparse_attention_pto_undeclared
options=(--load "$packages/custom_pypto/custom_pypto_lib.so" --declaration "$here/../declared/described.py" --row mutation)
for kernel in "$here"/../kernels/*.cpp; do
    options+=(--kernels "$kernel")
done
for operator in "$@"; do
    options+=(--op "$operator")
done
exec opwright check custom_pypto "${options[@]}"
