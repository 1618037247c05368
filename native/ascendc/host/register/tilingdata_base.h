// register/tilingdata_base.h
// The tiling data of an operator as a class with a setter for each field, of which the kernel gets a plain structure.
#pragma once

#include <algorithm>
#include <cmath>  // tiling functions use it without including it
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>  // tiling functions use the containers without including them
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "exe_graph/runtime/tiling_context.h"
#include "graph/ascend_string.h"
#include "node/registry.h"

namespace optiling {

// A field; `nested` is the distance of a nested structure's object from its owner.
struct FieldInfo {
  const char* type;
  const char* name;
  size_t offset;
  size_t size;   // bytes, of all elements
  size_t count;  // 0: no array
  std::ptrdiff_t nested;
};

// Its fields lie as a C++ compiler would place those of a structure. Nothing in it points to itself, so that objects of
// derived classes can be copied.
class TilingDef {
 public:
  virtual ~TilingDef() = default;

  // Writes the structure; does nothing if `capacity` is too small, which the package then finds by GetDataSize.
  void SaveToBuffer(void* data, size_t capacity) {
    if (data == nullptr || capacity < GetDataSize()) return;
    write(static_cast<uint8_t*>(data));
  }
  size_t GetDataSize() const { return (bytes_.size() + alignment_ - 1) / alignment_ * alignment_; }
  const std::vector<FieldInfo>& GetFieldInfo() const { return fields_; }
  const char* GetTilingClassName() const { return class_name_; }
  size_t GetAlignment() const { return alignment_; }
  const TilingDef& nested(const FieldInfo& field) const {
    return *reinterpret_cast<const TilingDef*>(reinterpret_cast<const char*>(this) + field.nested);
  }

 protected:
  explicit TilingDef(const char* class_name) : class_name_(class_name) {}
  TilingDef(const TilingDef&) = default;
  TilingDef& operator=(const TilingDef&) = default;

  // Return the offset.
  size_t add_field(const char* type, const char* name, size_t element, size_t count) {
    return place({type, name, 0, element * std::max<size_t>(count, 1), count, 0}, element);
  }
  size_t add_struct(const char* type, const char* name, const TilingDef& object) {
    const auto distance = reinterpret_cast<const char*>(&object) - reinterpret_cast<const char*>(this);
    return place({type, name, 0, object.GetDataSize(), 0, distance}, object.GetAlignment());
  }
  template <class T>
  T read(size_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  template <class T>
  void assign(size_t offset, const T* values, size_t count) {
    std::memcpy(bytes_.data() + offset, values, sizeof(T) * count);
  }
  template <class T>
  T* array(size_t offset) {
    return reinterpret_cast<T*>(bytes_.data() + offset);
  }

 private:
  size_t place(FieldInfo field, size_t alignment) {
    field.offset = (bytes_.size() + alignment - 1) / alignment * alignment;
    alignment_ = std::max(alignment_, alignment);
    bytes_.resize(field.offset + field.size);
    fields_.push_back(field);
    return field.offset;
  }
  void write(uint8_t* data) const {
    std::memset(data, 0, GetDataSize());
    std::memcpy(data, bytes_.data(), bytes_.size());
    for (const FieldInfo& field : fields_) {
      if (field.nested != 0) nested(field).write(data + field.offset);
    }
  }

  const char* class_name_;
  size_t alignment_ = 1;
  std::vector<FieldInfo> fields_;
  std::vector<uint8_t> bytes_;
};

}  // namespace optiling

// Host code says `using namespace AscendC` for the tiling functions of high-level APIs, also where it includes none.
namespace AscendC {}

#define BEGIN_TILING_DATA_DEF(class_name)           \
  class class_name : public ::optiling::TilingDef { \
   public:                                          \
    class_name() : ::optiling::TilingDef(#class_name) {}

#define TILING_DATA_FIELD_DEF(data_type, field_name)                                               \
 public:                                                                                           \
  void set_##field_name(data_type value) { this->assign(this->field_name##_offset_, &value, 1); }  \
  data_type get_##field_name() const { return this->read<data_type>(this->field_name##_offset_); } \
                                                                                                   \
 private:                                                                                          \
  size_t field_name##_offset_ = this->add_field(#data_type, #field_name, sizeof(data_type), 0);    \
                                                                                                   \
 public:

#define TILING_DATA_FIELD_DEF_ARR(arr_type, arr_size, field_name)                                               \
 public:                                                                                                        \
  void set_##field_name(const arr_type* values) { this->assign(this->field_name##_offset_, values, arr_size); } \
  arr_type* get_##field_name() { return this->array<arr_type>(this->field_name##_offset_); }                    \
                                                                                                                \
 private:                                                                                                       \
  size_t field_name##_offset_ = this->add_field(#arr_type, #field_name, sizeof(arr_type), arr_size);            \
                                                                                                                \
 public:

#define TILING_DATA_FIELD_DEF_STRUCT(struct_type, field_name)                                  \
 public:                                                                                       \
  struct_type field_name;                                                                      \
                                                                                               \
 private:                                                                                      \
  size_t field_name##_offset_ = this->add_struct(#struct_type, #field_name, this->field_name); \
                                                                                               \
 public:

// Some definitions have no semicolon behind it.
#define END_TILING_DATA_DEF \
  }                         \
  ;

#define REGISTER_TILING_DATA_CLASS(op_type, class_name)                                                       \
  [[maybe_unused]] static const bool opwright_tiling_##op_type##_##class_name = [] {                          \
    ::opwright::ascendc::add_tiling_class(                                                                    \
        #op_type, []() -> std::shared_ptr<::optiling::TilingDef> { return std::make_shared<class_name>(); }); \
    return true;                                                                                              \
  }();
