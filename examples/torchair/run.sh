#!/usr/bin/env bash
# Custom operators in TorchAir's graphs: four samples, each by hand and declared, checked in every mode.
#
#   bash run.sh             sets up and checks all
#   bash run.sh test        the same: running it is testing it
#   bash run.sh clean       removes what these made
#
#   SAMPLE                  only that one: in_place_plugin, ...
#   by_hand, declared       only that form
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
export XDG_CACHE_HOME=$PWD/build/cache TORCHINDUCTOR_CACHE_DIR=$PWD/build/inductor

# verify SAMPLE FORM: one verify.py serves both forms, which PYTHONPATH chooses between.
verify() {
    local sample=$1 form=$2 build=$PWD/build/$1 kernel kernels=()
    step "$sample, $form"
    mkdir -p "$build"
    cd "$sample"
    # Steps 1 and 3 are C++: a library, compiled against the torch and torch_npu that it runs with.
    if [ -d "$form/step1_schema" ]; then
        logged "$build/compile.log" opwright run -- "$python" ../setup.py -q build_ext \
            --build-lib "$build/library" --build-temp "$build/objects"
        MY_OPS_LIBRARY=$(ls "$build"/library/*.so)
        export MY_OPS_LIBRARY
    fi
    # The device kernel where no operator package has it. A declaration's reference is one by itself.
    for kernel in kernel.py "$form/step2_operator/kernel.py"; do
        [ ! -f "$kernel" ] || kernels+=(--kernels "$kernel")
    done
    # torch_npu and TorchAir warn about formats and modes; nothing here depends on that.
    PYTHONPATH=$form:.. opwright run "${kernels[@]}" -- "$python" verify.py 2>"$build/$form.log" ||
        { tail -n 40 "$build/$form.log" >&2; fail "$sample, $form: something differs"; }
}

show() {
    local argument sample form samples=() forms=()
    for argument in "$@"; do
        case "$argument" in
            by_hand | declared) forms+=("$argument") ;;
            *) [ -f "${argument%/}/verify.py" ] || unknown "$argument"; samples+=("${argument%/}") ;;
        esac
    done
    [ ${#samples[@]} -gt 0 ] || samples=(*_from_scratch *_plugin)
    [ ${#forms[@]} -gt 0 ] || forms=(by_hand declared)
    for sample in "${samples[@]}"; do
        for form in "${forms[@]}"; do (verify "$sample" "$form"); done
    done
}

check() { show "$@"; }
verbs "$@"
