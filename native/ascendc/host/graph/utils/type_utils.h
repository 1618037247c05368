// graph/utils/type_utils.h
// Names and sizes of data types and formats.
#pragma once

#include <cstdint>
#include <string>

#include "graph/ascend_string.h"
#include "graph/types.h"

namespace ge {
inline namespace ascendc_host {

class TypeUtils {
 public:
  // "DT_FLOAT16"; "UNDEFINED" for another code.
  static std::string DataTypeToSerialString(DataType type) { return NameOf(kTypes, type, "UNDEFINED"); }
  static AscendString DataTypeToAscendString(DataType type) { return DataTypeToSerialString(type).c_str(); }
  static DataType SerialStringToDataType(const std::string& name) { return CodeOf(kTypes, name, DT_UNDEFINED); }
  static bool IsDataTypeValid(DataType type) { return GetSizeByDataType(type) > 0; }

  // "ND", "FRACTAL_NZ"; "RESERVED" for another code.
  static std::string FormatToSerialString(Format format) {
    return NameOf(kFormats, static_cast<Format>(GetPrimaryFormat(format)), "RESERVED");
  }
  static AscendString FormatToAscendString(Format format) { return FormatToSerialString(format).c_str(); }
  static Format SerialStringToFormat(const std::string& name) { return CodeOf(kFormats, name, FORMAT_RESERVED); }
  static bool IsFormatValid(Format format) { return GetPrimaryFormat(format) < static_cast<int32_t>(FORMAT_END); }

  // Bytes of one element; false for a type without a size in whole bytes.
  static bool GetDataTypeLength(DataType type, uint32_t& length) {
    const int size = GetSizeByDataType(type);
    if (size <= 0 || size > 1000) return false;
    length = static_cast<uint32_t>(size);
    return true;
  }

 private:
  template <class Code>
  struct Row {
    Code code;
    const char* name;
  };
  template <class Code, int count>
  static std::string NameOf(const Row<Code> (&rows)[count], Code code, const char* otherwise) {
    for (const auto& row : rows) {
      if (row.code == code) return row.name;
    }
    return otherwise;
  }
  template <class Code, int count>
  static Code CodeOf(const Row<Code> (&rows)[count], const std::string& name, Code otherwise) {
    for (const auto& row : rows) {
      if (name == row.name) return row.code;
    }
    return otherwise;
  }

#define OPWRIGHT_ROW(name, code) {DT_##name, "DT_" #name},
  static constexpr Row<DataType> kTypes[] = {OPWRIGHT_GE_DATA_TYPES(OPWRIGHT_ROW)};
#undef OPWRIGHT_ROW
#define OPWRIGHT_ROW(name, code) {FORMAT_##name, #name},
  static constexpr Row<Format> kFormats[] = {OPWRIGHT_GE_FORMATS(OPWRIGHT_ROW)};
#undef OPWRIGHT_ROW
};

}  // namespace ascendc_host
}  // namespace ge
