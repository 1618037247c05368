// native/runtime/descriptors/op_attr.cpp
// aclopAttr: create, set values (always copied), destroy. Setting a name again replaces its value.
#include "runtime/descriptors/op_attr.h"

#include <memory>

#include "acl/acl_desc.h"
#include "acl/acl_op.h"
#include "runtime/call.h"

using namespace opwright;

namespace {

// Stores what `make` returns under `name`.
template <class Make>
aclError set(const char* function, aclopAttr* attr, const char* name, const Make& make) {
  return call(
      function,
      [&] {
        auto& values = out(attr, "attr", ACL_ERROR_INVALID_PARAM).values;
        const std::string key = &out(name, "attrName", ACL_ERROR_INVALID_PARAM);
        values.insert_or_assign(key, make());
      },
      arg("attrName", name));
}

// `count` values from a C array, each passed through `convert`.
template <class Element, class T, class Convert>
std::vector<Element> copy(int count, const T* values, const Convert& convert) {
  require(count >= 0, ACL_ERROR_INVALID_PARAM, "the number of values is ", count, "; it must not be negative");
  require(count == 0 || values != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'values' is null with ", count,
          " values announced");
  std::vector<Element> result;
  result.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) result.push_back(convert(values[i]));
  return result;
}

template <class T>
std::vector<T> copy(int count, const T* values) {
  return copy<T>(count, values, [](const T& value) { return value; });
}

std::string copy_text(const char* value) { return &out(value, "attrValue", ACL_ERROR_INVALID_PARAM); }

}  // namespace

aclopAttr* aclopCreateAttr(void) {
  aclopAttr* created = nullptr;
  call("aclopCreateAttr", [&] { created = std::make_unique<aclopAttr>().release(); });
  return created;
}

void aclopDestroyAttr(const aclopAttr* attr) {
  call("aclopDestroyAttr", [&] { std::unique_ptr<const aclopAttr>{attr}.reset(); });
}

aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  return set("aclopSetAttrBool", attr, attrName, [&] { return attrValue != 0; });
}

aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  return set("aclopSetAttrInt", attr, attrName, [&] { return attrValue; });
}

aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
  return set("aclopSetAttrFloat", attr, attrName, [&] { return attrValue; });
}

aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  return set("aclopSetAttrString", attr, attrName, [&] { return copy_text(attrValue); });
}

aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
  return set("aclopSetAttrDataType", attr, attrName, [&] { return attrValue; });
}

aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues, const uint8_t* values) {
  return set("aclopSetAttrListBool", attr, attrName,
             [&] { return copy<bool>(numValues, values, [](uint8_t value) { return value != 0; }); });
}

aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues, const int64_t* values) {
  return set("aclopSetAttrListInt", attr, attrName, [&] { return copy(numValues, values); });
}

aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues, const float* values) {
  return set("aclopSetAttrListFloat", attr, attrName, [&] { return copy(numValues, values); });
}

aclError aclopSetAttrListDataType(aclopAttr* attr, const char* attrName, int numValues, const aclDataType values[]) {
  return set("aclopSetAttrListDataType", attr, attrName, [&] { return copy(numValues, values); });
}

aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues, const char** values) {
  return set("aclopSetAttrListString", attr, attrName, [&] { return copy<std::string>(numValues, values, copy_text); });
}

aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists, const int* numValues,
                                 const int64_t* const values[]) {
  return set("aclopSetAttrListListInt", attr, attrName, [&] {
    require(numLists <= 0 || numValues != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'numValues' is null");
    int list = 0;
    return copy<std::vector<int64_t>>(numLists, values,
                                      [&](const int64_t* row) { return copy(numValues[list++], row); });
  });
}
