// native/ascendc/package/library.h
// Registrations of a library of host code (op_host/*.cpp of a project).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "register/op_def.h"
#include "register/tilingdata_base.h"
#include "runtime/error.h"

namespace opwright::ascendc {

struct KernelTemplate {
  TemplateParameters declared;
  std::vector<TemplateParameters> selected;
};

class HostLibrary {
 public:
  // Loads a file, once per process; what it registers while it is loaded is its content. Throws 561003 with the
  // loader's words.
  static HostLibrary& load(const std::string& path);
  // The one that is being loaded by this thread, else that of everything else in the process.
  static HostLibrary& current();

  // By operator type.
  std::map<std::string, ops::OpDef> definitions;
  std::map<std::string, OpFunctions> functions;
  std::map<std::string, KernelTemplate> templates;
  // By the name under which it was registered.
  std::map<std::string, std::shared_ptr<optiling::TilingDef>> tiling_classes;
  // Chips of REGISTER_OP_AICORE_CONFIG, which stand behind those of the definition.
  std::map<std::string, std::map<std::string, ops::OpAICoreConfig>> configs;
};

}  // namespace opwright::ascendc
