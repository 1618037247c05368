// native/ascendc/package/definition.cpp
#include "ascendc/package/definition.h"

#include <algorithm>

#include "graph/utils/type_utils.h"

namespace opwright::ascendc {
namespace {

template <class Value>
std::string joined(const std::vector<Value>& values) {
  std::string result;
  for (const auto& value : values) result += (result.empty() ? "" : ", ") + value;
  return result;
}

std::string dtype_text(ge::DataType type) {
  const std::string name = ge::TypeUtils::DataTypeToSerialString(type);
  return name.compare(0, 3, "DT_") == 0 ? name.substr(3) : name;
}

// A chip's own port replaces that of the definition.
std::vector<ops::PortData> overridden(const ops::Ports& general, const ops::Ports* of_chip) {
  std::vector<ops::PortData> result;
  for (const auto& port : general.all()) {
    result.push_back(port.data());
    if (of_chip == nullptr) continue;
    for (const auto& own : of_chip->all()) {
      if (own.data().name == port.data().name) result.back() = own.data();
    }
  }
  return result;
}

class Columns {
 public:
  explicit Columns(Operator& op) : op_(op) {
    resolve_follows();
    count_ = longest();
    for (size_t i = 0; i < op_.port_count(); ++i) check(port(i));
  }

  std::vector<Column> make() {
    for (size_t entry = 0; entry < count_; ++entry) expand(0, Column{{}, {}, entry});
    return std::move(result_);
  }

 private:
  ops::PortData& port(size_t index) {
    return index < op_.inputs.size() ? op_.inputs[index] : op_.outputs[index - op_.inputs.size()];
  }

  // Follow copies the lists of the input that it names.
  void resolve_follows() {
    for (size_t i = 0; i < op_.port_count(); ++i) {
      ops::PortData& follower = port(i);
      if (follower.follows.empty()) continue;
      const auto leader = std::find_if(op_.inputs.begin(), op_.inputs.end(),
                                       [&](const ops::PortData& input) { return input.name == follower.follows; });
      require(leader != op_.inputs.end() && &*leader != &follower, ACLNN_ERR_PARAM_INVALID, op_.type, ", ",
              follower.name, ": Follow(\"", follower.follows, "\") names no other input");
      if (follower.follow_type == ops::FollowType::ALL || follower.follow_type == ops::FollowType::DTYPE) {
        follower.dtypes = leader->dtypes;
        follower.dtypes_are_list = leader->dtypes_are_list;
        dtype_leader_[&follower] = leader - op_.inputs.begin();
      }
      if (follower.follow_type == ops::FollowType::ALL || follower.follow_type == ops::FollowType::FORMAT) {
        follower.formats = leader->formats;
        follower.formats_are_list = leader->formats_are_list;
        format_leader_[&follower] = leader - op_.inputs.begin();
      }
    }
  }

  size_t longest() {
    size_t result = 1;
    for (size_t i = 0; i < op_.port_count(); ++i) {
      const ops::PortData& each = port(i);
      if (!each.dtypes_are_list) result = std::max(result, each.dtypes.size());
      if (!each.formats_are_list) result = std::max(result, each.formats.size());
    }
    return result;
  }

  void check(const ops::PortData& each) const {
    require(!each.dtypes.empty(), ACLNN_ERR_PARAM_INVALID, op_.type, ", ", each.name,
            ": it has no DataType; list one for each combination");
    const auto fits = [&](size_t size, bool is_list) { return is_list || size == count_ || size == 0; };
    require(fits(each.dtypes.size(), each.dtypes_are_list), ACLNN_ERR_PARAM_INVALID, op_.type, ", ", each.name,
            ": DataType lists ", each.dtypes.size(), " dtypes, another port ", count_,
            "; all lists have an entry for each combination");
    require(fits(each.formats.size(), each.formats_are_list), ACLNN_ERR_PARAM_INVALID, op_.type, ", ", each.name,
            ": Format lists ", each.formats.size(), " formats, another list ", count_,
            "; all lists have an entry for each combination");
    require(each.initial.size() <= 1 || each.initial.size() == count_, ACLNN_ERR_PARAM_INVALID, op_.type, ", ",
            each.name, ": InitValue lists ", each.initial.size(), " values, another list ", count_,
            "; give one value, or one for each combination");
  }

  // Ports from `index` on; a port whose list goes with everything gives one column for each entry.
  void expand(size_t index, Column made) {
    if (index == op_.port_count()) {
      result_.push_back(std::move(made));
      return;
    }
    const ops::PortData& each = port(index);
    for (const ge::DataType dtype : dtypes_of(each, made)) {
      for (const ge::Format format : formats_of(each, made)) {
        Column next = made;
        next.dtypes.push_back(dtype);
        next.formats.push_back(format);
        expand(index + 1, std::move(next));
      }
    }
  }
  std::vector<ge::DataType> dtypes_of(const ops::PortData& each, const Column& made) const {
    if (!each.dtypes_are_list) return {each.dtypes[made.entry]};
    const auto leader = dtype_leader_.find(&each);
    return leader == dtype_leader_.end() ? each.dtypes : std::vector<ge::DataType>{made.dtypes[leader->second]};
  }
  std::vector<ge::Format> formats_of(const ops::PortData& each, const Column& made) const {
    if (each.formats.empty()) return {ge::FORMAT_ND};
    if (!each.formats_are_list) return {each.formats[made.entry]};
    const auto leader = format_leader_.find(&each);
    return leader == format_leader_.end() ? each.formats : std::vector<ge::Format>{made.formats[leader->second]};
  }

  Operator& op_;
  size_t count_ = 0;
  std::map<const ops::PortData*, size_t> dtype_leader_;  // followers of a list
  std::map<const ops::PortData*, size_t> format_leader_;
  std::vector<Column> result_;
};

void check_ports(const Operator& op) {
  for (const ops::PortData& port : op.inputs) {
    require(!port.auto_contiguous || !port.ignore_contiguous, ACLNN_ERR_PARAM_INVALID, op.type, ", ", port.name,
            ": AutoContiguous and IgnoreContiguous exclude each other");
    require(port.value_depend == ops::IGNORE || (!port.scalar && !port.scalar_list), ACLNN_ERR_PARAM_INVALID, op.type,
            ", ", port.name, ": ValueDepend and Scalar exclude each other");
    require(!port.shape_depends_on_compute, ACLNN_ERR_PARAM_INVALID, op.type, ", ", port.name,
            ": OutputShapeDependOnCompute is for outputs");
  }
  for (const ops::PortData& port : op.outputs) {
    require(port.value_depend == ops::IGNORE && port.version == 0, ACLNN_ERR_PARAM_INVALID, op.type, ", ", port.name,
            ": ValueDepend and Version are for inputs");
    require(port.clear_to == 0, ACLNN_ERR_PARAM_INVALID, op.type, ", ", port.name, ": InitValue(", port.clear_to,
            "); a plain number may be 0 only, others are a ScalarVar with their type");
    require(!port.shape_depends_on_compute, ACL_ERROR_FEATURE_UNSUPPORTED, op.type, ", ", port.name,
            ": outputs whose shapes the kernel computes (OutputShapeDependOnCompute) are not supported");
  }
  for (const ops::AttributeData& attribute : op.attributes) {
    require(attribute.type[0] != '\0', ACLNN_ERR_PARAM_INVALID, op.type, ", attribute ", attribute.name,
            ": it has no type; call Int, Float, Bool, String or a list of one of them");
  }
}

}  // namespace

std::vector<std::string> chips_of(const HostLibrary& library, const std::string& type) {
  std::vector<std::string> result;
  const auto definition = library.definitions.find(type);
  if (definition == library.definitions.end()) return result;
  for (const auto& [chip, config] : definition->second.ai_core().configs()) result.push_back(chip);
  if (const auto more = library.configs.find(type); more != library.configs.end()) {
    for (const auto& [chip, config] : more->second) {
      if (std::find(result.begin(), result.end(), chip) == result.end()) result.push_back(chip);
    }
  }
  return result;
}

Operator operator_of(const HostLibrary& library, const std::string& type, const std::string& chip) {
  const auto found = library.definitions.find(type);
  require(found != library.definitions.end(), ACLNN_ERR_INNER_KERNEL_NOT_FOUND, type, " is not defined; OP_ADD(", type,
          ") behind its class registers it");
  const ops::OpDef& definition = found->second;
  const std::vector<std::string> chips = chips_of(library, type);
  require(std::find(chips.begin(), chips.end(), chip) != chips.end(), ACLNN_ERR_PARAM_INVALID, type,
          " is not configured for ", chip, ", but for ", chips.empty() ? "no chip" : joined(chips),
          "; AICore().AddConfig(\"", chip, "\") adds it");
  const ops::OpAICoreConfig* config = nullptr;
  const auto own = definition.ai_core().configs().find(chip);
  if (own != definition.ai_core().configs().end()) {
    config = &own->second;
  } else {
    config = &library.configs.at(type).at(chip);
  }
  Operator op;
  op.type = type;
  op.library = &library;
  op.inputs = overridden(definition.inputs(), &config->inputs());
  op.outputs = overridden(definition.outputs(), &config->outputs());
  for (const auto& attribute : definition.attributes()) op.attributes.push_back(attribute.data());
  if (const auto functions = library.functions.find(type); functions != library.functions.end()) {
    op.functions = functions->second;
  }
  op.strict_formats = definition.strict_formats();
  op.launch_empty = definition.ai_core().launch_empty();
  for (const auto& input : op.inputs) op.any_auto_contiguous |= input.auto_contiguous;
  require(!definition.mc2().is_used(), ACL_ERROR_FEATURE_UNSUPPORTED, type,
          ": kernels that communicate (MC2) are not supported");
  check_ports(op);
  op.columns = Columns(op).make();
  return op;
}

std::string name_of(const Column& column) {
  std::string result;
  for (const ge::DataType dtype : column.dtypes) result += (result.empty() ? "" : ",") + dtype_text(dtype);
  std::string formats;
  for (const ge::Format format : column.formats) {
    formats += (formats.empty() ? "" : ",") + ge::TypeUtils::FormatToSerialString(format);
  }
  return result + ";" + formats;
}

}  // namespace opwright::ascendc
