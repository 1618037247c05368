#!/bin/sh
# aie/tests/sanitized.sh [FOLDER]: the native tests and libascendie under AddressSanitizer (leaks too) and
# UndefinedBehaviorSanitizer, in a build folder of their own (minutes). Exits with 0 if every check holds.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/aie-sanitized}
python=${PYTHON:-python3}
torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
# With sanitizers gcc warns of ends of functions that are never reached.
flags="-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-return-type"
cmake -S "$root/aie/native" -B "$build" -G Ninja -DCMAKE_PREFIX_PATH="$torch" -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_FLAGS="$flags" >"$build.log"
ninja -C "$build" -j"${JOBS:-2}" ascendie
for program in network_test errors_test runtime_test; do
  # shellcheck disable=SC2086 # the flags are several words
  g++ -std=c++17 $flags -I"$root/aie/native/engine/include" "$root/aie/tests/$program.cpp" \
    -o "$build/$program" -L"$build/engine" -L"$torch/lib" -Wl,-rpath,"$build/engine:$torch/lib" -lascendie
  for check in $(sed -n 's/^ *{"\([a-z_0-9]*\)",.*/\1/p' "$root/aie/tests/$program.cpp"); do
    ASAN_OPTIONS=detect_leaks=1 "$build/$program" "$check" || { echo "$check failed" >&2; exit 1; }
    echo "$check"
  done
done
