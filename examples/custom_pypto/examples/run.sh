#!/usr/bin/env bash
# Tests the installed wheel custom_pypto: eager and all compiled modes, against plain PyTorch.
#
#   bash run.sh [VENV] [OPTIONS OF PYTEST]
#
# VENV is what build_and_install.sh installed into; without it, the `python` on the PATH. Where there is no CANN, the
# twin of `opwright` runs the tests, with the kernels in ../kernels in place of the device operators.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

python=python
if [ $# -gt 0 ] && [ -x "$1/bin/python" ]; then
    python=$(cd "$1" && pwd)/bin/python
    shift
fi
on_the_npu=()
if command -v opwright >/dev/null; then
    on_the_npu=(opwright run)
    for kernel in "$here"/../kernels/*.cpp; do
        on_the_npu+=(--kernels "$kernel")
    done
    on_the_npu+=(--)
fi

cd "$here"
# PYTHONSAFEPATH keeps this folder's parents off Python's path, where the sources would hide the installed wheel. The
# outer environment's plugins of pytest are visible, but these tests use none.
PYTHONSAFEPATH=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 "${on_the_npu[@]}" "$python" -m pytest -q "$@" .
