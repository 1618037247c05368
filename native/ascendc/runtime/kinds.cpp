// native/ascendc/runtime/kinds.cpp
#include "ascendc/runtime/kinds.h"

#include <dlfcn.h>

#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace AscendC::machine {
namespace {

constexpr uint64_t kDefaultKey = ~uint64_t{0};

struct Use {
  bool cube = false;
  bool vector = false;
};

struct Known {
  std::mutex mutex;
  // By library and kernel: two packages may have kernels of one name.
  std::map<std::tuple<const void*, std::string, uint64_t>, KernelKind> declared;
  std::map<const void*, Use> uses;
};

Known& known() {
  static Known* const instance = new Known();  // libraries register while the process starts and ends
  return *instance;
}

const void* library_of(const void* address) {
  Dl_info info = {};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// "… [with Local = add_custom(unsigned char*, …)::opwright_kernel_kind; …]" -> "add_custom"
std::string kernel_in(const std::string& function) {
  const size_t begin = function.find("Local = ");
  if (begin == std::string::npos) return function;
  const std::string rest = function.substr(begin + 8);
  const std::string signature = rest.substr(0, rest.find('('));
  const size_t space = signature.rfind(' ');  // a template's return type comes first
  const std::string qualified = space == std::string::npos ? signature : signature.substr(space + 1);
  const std::string plain = qualified.substr(0, qualified.find('<'));
  const size_t colon = plain.rfind("::");
  return colon == std::string::npos ? plain : plain.substr(colon + 2);
}

}  // namespace

bool note_use(const void* in_library, bool cube, bool vector) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  Use& use = known().uses[library_of(in_library)];
  use.cube |= cube;
  use.vector |= vector;
  return true;
}

bool note_kind(const char* function, uint64_t key, KernelKind kind) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  // The text is a constant of the library that the kernel is in.
  known().declared[{library_of(function), kernel_in(function), key}] = kind;
  return true;
}

void forget_library(const void* in_library) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  const void* const library = library_of(in_library);
  known().uses.erase(library);
  auto& declared = known().declared;
  for (auto it = declared.begin(); it != declared.end();) {
    it = std::get<0>(it->first) == library ? declared.erase(it) : std::next(it);
  }
}

KernelKind kind_of_kernel(const std::string& name, uint64_t tiling_key, const void* in_library) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  const void* const library = library_of(in_library);
  for (const uint64_t key : {tiling_key, kDefaultKey}) {
    const auto found = known().declared.find({library, name, key});
    if (found != known().declared.end()) return found->second;
  }
  const auto use = known().uses.find(library);
  if (use == known().uses.end() || !use->second.cube) return KernelKind::kVector;
  return use->second.vector ? KernelKind::kMix12 : KernelKind::kCube;
}

const char* text_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kVector:
      return "vector";
    case KernelKind::kCube:
      return "cube";
    case KernelKind::kMix10:
      return "mix 1:0";
    case KernelKind::kMix01:
      return "mix 0:1";
    case KernelKind::kMix11:
      return "mix 1:1";
    case KernelKind::kMix12:
      return "mix 1:2";
    default:
      return "unknown";
  }
}

}  // namespace AscendC::machine
