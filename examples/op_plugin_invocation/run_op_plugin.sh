#!/usr/bin/env bash
# Builds the operator of op_plugin_patch/ as a wheel, installs it into a clean virtual environment, and runs the tests.
#
#   bash run_op_plugin.sh                     build, install, test in eager mode and in graphs
#   bash run_op_plugin.sh --ascend-c          the same with the operator's kernel in Ascend C (../ascend_c)
#   bash run_op_plugin.sh --patch TREE        instead write build/add_custom.patch for a checkout of op-plugin or torch_npu
#
# It uses the `opwright` on the PATH and the Python beside it; torch and torch_npu come from that environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'run_op_plugin.sh: %s\n' "$*" >&2; exit 1; }

command -v opwright >/dev/null || fail "opwright is not on the PATH; activate its environment first"
python=$(dirname "$(command -v opwright)")/python

ascend_c=no
case "${1:-}" in
    "") ;;
    --ascend-c) ascend_c=yes ;;
    --patch)
        [ $# -eq 2 ] || fail "--patch needs the folder of a checkout of op-plugin or torch_npu"
        mkdir -p build
        opwright op-plugin patch op_plugin_patch --tree "$2" -o build/add_custom.patch
        exit ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' run_op_plugin.sh; exit ;;
    *) fail "unknown argument '$1'" ;;
esac

step "Building the wheel (ten seconds the first time)"
opwright op-plugin build op_plugin_patch --name add_custom -o build/dist

step "Installing it into a clean virtual environment"
"$python" -m venv --without-pip --clear build/venv
"$python" -m pip --python build/venv/bin/python install --quiet --disable-pip-version-check \
    --no-deps --no-index build/dist/add_custom-1.0-*.whl
# torch, torch_npu and opwright are shown to it rather than installed a second time.
outer=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
inner=$(build/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf 'import site; site.addsitedir(%s)\n' "'$outer'" >"$inner/outer.pth"
printf '%s\n' "build/venv"

# aclnnAddCustom is computed by the reference function, or by the operator package that is deployed on hardware.
if [ "$ascend_c" = yes ]; then
    step "Building the operator package of ../ascend_c"
    opwright ascendc build ../ascend_c --out build/package
    export ASCEND_CUSTOM_OPP_PATH=$PWD/build/package/vendors/opwright_examples
    kernels=()
else
    kernels=(--kernels reference.py)
fi

for test in test_ops_custom.py test_ops_custom_register_in_graph.py; do
    step "$test"
    # On a machine with an NPU and the operator's package, `python3 $test` runs there.
    opwright run "${kernels[@]}" -- build/venv/bin/python "$test"
done
