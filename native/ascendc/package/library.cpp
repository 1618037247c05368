// native/ascendc/package/library.cpp
#include "ascendc/package/library.h"

#include <dlfcn.h>

#include <mutex>

namespace opwright::ascendc {
namespace {

thread_local HostLibrary* loading = nullptr;

struct Loading {
  explicit Loading(HostLibrary& library) : before(loading) { loading = &library; }
  ~Loading() { loading = before; }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;
  HostLibrary* before;
};

// Functions of the definition that were not registered beside it.
void complete(HostLibrary& library) {
  for (const auto& [type, definition] : library.definitions) {
    OpFunctions& functions = library.functions[type];
    if (functions.tiling == nullptr) functions.tiling = definition.ai_core().tiling();
    if (functions.infer_shape == nullptr) functions.infer_shape = definition.infer_shape();
    if (functions.infer_dtype == nullptr) functions.infer_dtype = definition.infer_dtype();
  }
}

}  // namespace

HostLibrary& HostLibrary::load(const std::string& path) {
  static std::mutex mutex;
  static auto* const libraries = new std::map<std::string, std::unique_ptr<HostLibrary>>;  // outlives worker threads
  const std::lock_guard<std::mutex> lock(mutex);
  auto& library = (*libraries)[path];
  if (library != nullptr) return *library;
  auto made = std::make_unique<HostLibrary>();
  {
    const Loading scope(*made);
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      fail(ACLNN_ERR_INNER_KERNEL_NOT_FOUND, "the package's host code cannot be loaded: ", dlerror());
    }
  }
  complete(*made);
  library = std::move(made);
  return *library;
}

HostLibrary& HostLibrary::current() {
  static auto* const rest = new HostLibrary;
  return loading == nullptr ? *rest : *loading;
}

void add_op_def(const char* type, ops::OpDef (*make)(const char*)) {
  HostLibrary::current().definitions.insert_or_assign(type, make(type));
}

void add_op_config(const char* type, const char* soc, ops::OpAICoreConfig (*make)()) {
  HostLibrary::current().configs[type].emplace(soc, make());
}

OpFunctions& functions_of(const char* type) { return HostLibrary::current().functions[type]; }

void add_tiling_class(const char* type, std::shared_ptr<optiling::TilingDef> (*make)()) {
  HostLibrary::current().tiling_classes.insert_or_assign(type, make());
}

void add_template(const char* type, const TemplateParameters& declared,
                  const std::vector<TemplateParameters>& selected) {
  HostLibrary::current().templates.insert_or_assign(type, KernelTemplate{declared, selected});
}

}  // namespace opwright::ascendc
