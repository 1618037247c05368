// native/ascendc/package/describe.cpp
// The definitions in a library of host code, as JSON: `opwright ascendc build` derives the rest of a package from it.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ascendc/package/definition.h"
#include "ascendc/package/library.h"
#include "ascendc/package/template_keys.h"
#include "runtime/call.h"

namespace opwright::ascendc {
namespace {

std::string quoted(const std::string& words) { return trace::quote(words); }

template <class Values, class Text>
std::string array(const Values& values, const Text& text_of) {
  std::string result;
  for (const auto& value : values) result += (result.empty() ? "" : ",") + std::string(text_of(value));
  return "[" + result + "]";
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";  // as Python reads and writes them
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::ostringstream out;
  out.precision(9);  // floats survive
  out << value;
  return out.str();
}

const char* presence(ops::Option option) {
  switch (option) {
    case ops::OPTIONAL:
    case ops::VIRTUAL:
      return "optional";
    case ops::DYNAMIC:
      return "dynamic";
    default:
      return "required";
  }
}

std::string describe(const ops::PortData& port) {
  return text(
      "{\"name\":", quoted(port.name), ",\"presence\":\"", presence(port.presence),
      "\",\"scalar\":", port.scalar ? "true" : "false", ",\"scalar_list\":", port.scalar_list ? "true" : "false",
      ",\"value_depend\":", port.value_depend != ops::IGNORE ? "true" : "false", ",\"version\":", port.version, "}");
}

// The default as a JSON value; null without one.
std::string default_of(const ops::AttributeData& attribute) {
  const std::string type = attribute.type;
  if (!attribute.has_default) return "null";
  if (type == "Bool") return attribute.bool_value ? "true" : "false";
  if (type == "Int") return std::to_string(attribute.int_value);
  if (type == "Float") return number(attribute.float_value);
  if (type == "String") return quoted(attribute.text);
  if (type == "ListBool") return array(attribute.bools, [](bool value) { return value ? "true" : "false"; });
  if (type == "ListFloat") return array(attribute.floats, [](float value) { return number(value); });
  return array(attribute.ints, [](int64_t value) { return std::to_string(value); });
}

std::string describe(const ops::AttributeData& attribute) {
  return text("{\"name\":", quoted(attribute.name), ",\"type\":", quoted(attribute.type),
              ",\"required\":", attribute.required ? "true" : "false", ",\"version\":", attribute.version,
              ",\"default\":", default_of(attribute), "}");
}

std::string describe(const KernelTemplate& kernel) {
  const auto parameter = [](const TemplateParameter& each) {
    return text("{\"name\":", quoted(each.name),
                ",\"is_dtype\":", each.kind == TemplateParameter::kDtype ? "true" : "false", "}");
  };
  const auto instance = [](const Instance& each) {
    return text("{\"key\":\"", each.key, "\",\"kernel_type\":", each.kernel_type,
                ",\"values\":", array(each.values, [](uint64_t value) { return std::to_string(value); }), "}");
  };
  return "{\"parameters\":" + array(kernel.declared, parameter) +
         ",\"instances\":" + array(instances_of(kernel.declared, kernel.selected), instance) + "}";
}

std::string describe_operator(const HostLibrary& library, const std::string& type) {
  std::string chips;
  for (const std::string& chip : chips_of(library, type)) {
    const Operator op = operator_of(library, type, chip);
    chips += (chips.empty() ? "" : ",") + quoted(chip) + ":" +
             text("{\"inputs\":", array(op.inputs, [](const auto& port) { return describe(port); }),
                  ",\"outputs\":", array(op.outputs, [](const auto& port) { return describe(port); }),
                  ",\"columns\":", array(op.columns, [](const Column& each) { return quoted(name_of(each)); }), "}");
  }
  const ops::OpDef& definition = library.definitions.at(type);
  std::string extended;
  for (const auto& [chip, config] : definition.ai_core().configs()) {
    std::string of_chip;
    for (const auto& [key, value] : config.extended()) {
      of_chip += (of_chip.empty() ? "" : ",") + quoted(key) + ":" + quoted(value);
    }
    extended += (extended.empty() ? "" : ",") + quoted(chip) + ":{" + of_chip + "}";
  }
  const auto attribute = [](const ops::OpAttrDef& each) { return describe(each.data()); };
  const auto kernel = library.templates.find(type);
  const auto functions = library.functions.find(type);
  const bool tiled = functions != library.functions.end() && functions->second.tiling != nullptr;
  return text("{\"type\":", quoted(type), ",\"attributes\":", array(definition.attributes(), attribute),
              ",\"tiling\":", tiled ? "true" : "false", ",\"extended\":{", extended, "},\"chips\":{", chips,
              "},\"template\":", kernel == library.templates.end() ? "null" : describe(kernel->second), "}");
}

std::string describe_class(const std::string& name, const optiling::TilingDef& data) {
  const auto field = [](const optiling::FieldInfo& each) {
    return text("{\"type\":", quoted(each.type), ",\"name\":", quoted(each.name), ",\"offset\":", each.offset,
                ",\"size\":", each.size, ",\"count\":", each.count, ",\"nested\":", each.nested != 0 ? "true" : "false",
                "}");
  };
  return text("{\"registered\":", quoted(name), ",\"class\":", quoted(data.GetTilingClassName()),
              ",\"size\":", data.GetDataSize(), ",\"fields\":", array(data.GetFieldInfo(), field), "}");
}

std::string describe(const HostLibrary& library) {
  const auto op = [&](const auto& entry) { return describe_operator(library, entry.first); };
  const auto data = [](const auto& entry) { return describe_class(entry.first, *entry.second); };
  return "{\"operators\":" + array(library.definitions, op) + ",\"tiling\":" + array(library.tiling_classes, data) +
         "}";
}

}  // namespace
}  // namespace opwright::ascendc

// The description of the library at `path`; freed with free(). Null with the reason as the thread's recent message.
extern "C" OPWRIGHT_API char* opwright_ascendc_describe(const char* path) {
  char* result = nullptr;
  opwright::call("opwright_ascendc_describe", [&] {
    result = strdup(opwright::ascendc::describe(opwright::ascendc::HostLibrary::load(path)).c_str());
  });
  return result;
}
