#!/usr/bin/env bash
# An operator through op-plugin: built as a wheel, installed into a clean virtual environment, run in eager and in graphs.
#
#   bash run.sh             builds and runs both test files: run_op_plugin.sh
#   bash run.sh test        the same: running it is testing it
#   bash run.sh clean       removes what these made
#
#   --ascend-c              with the operator's kernel in Ascend C (../ascend_c) instead of the reference function
#   --patch TREE            instead write build/add_custom.patch for a checkout of op-plugin or torch_npu
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
needs+=(g++)

show() { bash run_op_plugin.sh "$@"; }
check() { show "$@"; }
verbs "$@"
