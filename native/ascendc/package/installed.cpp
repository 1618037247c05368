// native/ascendc/package/installed.cpp
#include "ascendc/package/installed.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ascendc/interface.h"
#include "ascendc/package/platform.h"
#include "runtime/soc.h"

namespace opwright::ascendc {
namespace {

// Below vendors/NAME.
constexpr char kHostCode[] = "/op_impl/ai_core/tbe/op_tiling/lib/linux/" OPWRIGHT_MACHINE "/libcust_opmaster_rt2.0.so";
constexpr char kKernels[] = "/op_impl/ai_core/tbe/kernel/";
constexpr char kIndex[] = "kernels.tsv";

std::string parent(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

// vendors/NAME of vendors/NAME/op_api/lib/libcust_opapi.so, which may have been loaded by a link to it.
std::string package_of(const char* function) {
  Dl_info info = {};
  require(dladdr(function, &info) != 0 && info.dli_fname != nullptr, ACLNN_ERR_INNER_KERNEL_NOT_FOUND,
          "the operator package of ", function, " cannot be found");
  std::error_code missing;
  const auto library = std::filesystem::canonical(info.dli_fname, missing);
  return parent(parent(parent(missing ? info.dli_fname : library.string())));
}

#define STRING_OF(macro) STRING_OF_VALUE(macro)
#define STRING_OF_VALUE(value) #value

// Kernel files of an operator by column. The index begins with the headers' number. A line of it is: chip, operator
// type, column, file.
std::map<std::string, std::string> kernel_files(const std::string& package, const std::string& type,
                                                const std::string& chip) {
  const std::string folder = package + kKernels;
  std::ifstream index(folder + kIndex);
  require(index.good(), ACLNN_ERR_INNER_KERNEL_NOT_FOUND, "the operator package has no kernels: ", folder, kIndex,
          " cannot be read");
  std::string interface;
  std::getline(index, interface);
  require(interface == text("# ", STRING_OF(OPWRIGHT_ASCENDC_INTERFACE)), ACLNN_ERR_INNER_KERNEL_NOT_FOUND,
          "the operator package ", package, " was built with headers of another version; ",
          "build it again with `opwright ascendc build`");
  std::map<std::string, std::string> result;
  for (std::string line; std::getline(index, line);) {
    std::istringstream fields(line);
    std::string of_chip, of_type, column, file;
    std::getline(fields, of_chip, '\t');
    std::getline(fields, of_type, '\t');
    std::getline(fields, column, '\t');
    std::getline(fields, file, '\t');
    if (of_chip == chip && of_type == type) result[column] = folder + file;
  }
  return result;
}

template <class T>
T symbol(void* library, const char* name, const std::string& path) {
  void* const found = dlsym(library, name);
  require(found != nullptr, ACLNN_ERR_INNER_KERNEL_NOT_FOUND, path, " has no ", name,
          "; build the package again with `opwright ascendc build`");
  return reinterpret_cast<T>(found);
}

std::unique_ptr<KernelCode> load_kernel(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, ACLNN_ERR_INNER_KERNEL_NOT_FOUND,
          "the kernel cannot be loaded: ", library == nullptr ? dlerror() : "");
  auto code = std::make_unique<KernelCode>();
  code->name = symbol<const char*>(library, "opwright_kernel_name", path);
  code->entry = symbol<void (*)(void* const*)>(library, "opwright_kernel_entry", path);
  code->kind = symbol<int32_t (*)(uint64_t)>(library, "opwright_kernel_kind", path);
  code->arguments = *symbol<const uint32_t*>(library, "opwright_kernel_arguments", path);
  return code;
}

}  // namespace

InstalledOperator::~InstalledOperator() {
  if (compile_info_ != nullptr) op_.functions.free_compile_info(compile_info_);
}

const KernelCode& InstalledOperator::kernel(const Column& column) {
  const std::string name = name_of(column);
  const auto file = files_.find(name);
  require(file != files_.end(), ACLNN_ERR_INNER_KERNEL_NOT_FOUND, "the package has no kernel of ", op_.type, " for ",
          name, "; build it again with `opwright ascendc build`");
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& code = kernels_[file->second];
  if (code == nullptr) code = load_kernel(file->second);
  return *code;
}

const void* InstalledOperator::compile_info() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (compile_info_ != nullptr || op_.functions.tiling_parse == nullptr) return compile_info_;
  Node node(op_.type.c_str(), op_.type.c_str());
  node.platform = &platform();
  void* const made = op_.functions.make_compile_info();
  gert::TilingParseContext context(node, made);
  if (op_.functions.tiling_parse(&context) != ge::GRAPH_SUCCESS) {
    op_.functions.free_compile_info(made);
    fail(kErrorTiling, "the function given to TilingParse of ", op_.type, " returned GRAPH_FAILED");
  }
  compile_info_ = made;
  return made;
}

InstalledOperator& installed_operator(const char* function, const char* type) {
  static std::mutex mutex;
  static auto* const operators = new std::map<std::string, std::unique_ptr<InstalledOperator>>;
  const std::string package = package_of(function);
  const std::lock_guard<std::mutex> lock(mutex);
  auto& found = (*operators)[package + '\t' + type];
  if (found == nullptr) {
    const std::string chip = soc().short_name;
    std::map<std::string, std::string> kernels = kernel_files(package, type, chip);  // refuses before code is loaded
    const HostLibrary& library = HostLibrary::load(package + kHostCode);
    found = std::make_unique<InstalledOperator>(operator_of(library, type, chip), std::move(kernels));
  }
  return *found;
}

}  // namespace opwright::ascendc
