# Sourced by the run.sh of each sample, which has a function for each of its forms: the parts that all share.
#
# It uses the `opwright` on the PATH and the Python beside it. What it writes is in the sample's build/.

command -v opwright >/dev/null || { echo "run.sh: opwright is not on the PATH; activate its environment first" >&2; exit 1; }
python=$(dirname "$(command -v opwright)")/python
export XDG_CACHE_HOME=$PWD/build/cache TORCHINDUCTOR_CACHE_DIR=$PWD/build/inductor PYTHONDONTWRITEBYTECODE=1
mkdir -p build

# run_forms [FORM...]: runs the function by_hand, declared, or both.
run_forms() {
    local form
    [ $# -gt 0 ] || set -- by_hand declared
    for form in "$@"; do
        case "$form" in
            by_hand | declared) printf '\n== %s\n' "$form"; "$form" ;;
            *) echo "run.sh: unknown form '$form'; by_hand and declared are available" >&2; exit 1 ;;
        esac
    done
}
