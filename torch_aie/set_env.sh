# Put torch_aie into the environment of this shell, for C++ programs:  source set_env.sh
# Works from bash and zsh, also through a link to it; sourcing it again changes nothing.

if [ -n "${BASH_VERSION:-}" ]; then
  _aie_root=${BASH_SOURCE[0]}
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_aie_root=${(%):-%x}'  # zsh only; hidden from other shells' parsers
else
  echo "set_env.sh: source this file from bash or zsh" >&2
  return 1 2>/dev/null || exit 1
fi
_aie_root=$(dirname -- "$(readlink -f -- "$_aie_root")")
_aie_torch=$(readlink -f -- "$_aie_root/../opwright/cann/torch")
if [ -f "$_aie_root/../torch/lib/libtorch.so" ]; then  # both are in one site-packages
  _aie_torch=$(readlink -f -- "$_aie_root/../torch")
fi

export ASCENDIE_HOME="$_aie_root"
export MINDIE_TORCH_HOME="$_aie_root"

# Appends: what the user chose stays in front.
_aie_append() {
  case ":${LD_LIBRARY_PATH:-}:" in
    *":$1:"*) ;;
    *) export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1" ;;
  esac
}
_aie_append "$_aie_root/lib"
_aie_append "$_aie_torch/lib"

unset _aie_root _aie_torch
unset -f _aie_append
