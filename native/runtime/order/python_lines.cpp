#include "runtime/order/python_lines.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "runtime/error.h"

namespace opwright::order {
namespace {

constexpr int kMostLines = 3;

// CPython's C API, as far as it is needed; objects are opaque. All null in a process without Python.
struct Python {
  int (*is_initialized)() = nullptr;
  void* (*thread_state)() = nullptr;
  int (*ensure)() = nullptr;
  void (*release)(int) = nullptr;
  void* (*frame)() = nullptr;
  void* (*frame_back)(void*) = nullptr;
  void* (*frame_code)(void*) = nullptr;
  int (*frame_line)(void*) = nullptr;
  void* (*attribute)(void*, const char*) = nullptr;
  const char* (*utf8)(void*) = nullptr;
  void (*ref)(void*) = nullptr;
  void (*unref)(void*) = nullptr;
  void (*clear_error)() = nullptr;

  Python() noexcept {
    load(is_initialized, "Py_IsInitialized");
    load(thread_state, "PyGILState_GetThisThreadState");
    load(ensure, "PyGILState_Ensure");
    load(release, "PyGILState_Release");
    load(frame, "PyEval_GetFrame");
    load(frame_back, "PyFrame_GetBack");
    load(frame_code, "PyFrame_GetCode");
    load(frame_line, "PyFrame_GetLineNumber");
    load(attribute, "PyObject_GetAttrString");
    load(utf8, "PyUnicode_AsUTF8");
    load(ref, "Py_IncRef");
    load(unref, "Py_DecRef");
    load(clear_error, "PyErr_Clear");
  }

  // Whether the calling thread has run Python and still can. A thread that has not gets no state of its own here.
  bool knows_this_thread() const {
    return is_initialized != nullptr && is_initialized() != 0 && thread_state() != nullptr;
  }

 private:
  template <class Function>
  static void load(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

const Python& python() noexcept {
  static const Python instance;
  return instance;
}

// Owns a reference.
class Object {
 public:
  explicit Object(void* object) : object_(object) {}
  ~Object() { python().unref(object_); }  // null is allowed
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void* get() const noexcept { return object_; }

 private:
  void* const object_;
};

std::string text_of(void* object, const char* attribute) {
  const Object value(python().attribute(object, attribute));
  const char* const bytes = value.get() == nullptr ? nullptr : python().utf8(value.get());
  if (bytes == nullptr) python().clear_error();
  return bytes == nullptr ? "?" : bytes;
}

bool is_of_framework(const std::string& file) {
  static constexpr std::array<const char*, 4> kPackages = {"/site-packages/torch/", "/site-packages/torch_npu/",
                                                           "/site-packages/torchair/", "/site-packages/opwright/"};
  for (const char* const package : kPackages) {
    if (file.find(package) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string python_lines() {
  const Python& api = python();
  if (!api.knows_this_thread()) return "";
  const int state = api.ensure();
  std::string lines;
  void* frame = api.frame();
  if (frame != nullptr) api.ref(frame);
  for (int count = 0; frame != nullptr && count < kMostLines;) {
    {
      const Object code(api.frame_code(frame));
      const std::string file = text_of(code.get(), "co_filename");
      if (!is_of_framework(file)) {
        lines += text(count == 0 ? "" : "\n", file, ":", api.frame_line(frame), " in ", text_of(code.get(), "co_name"));
        ++count;
      }
    }
    void* const outer = api.frame_back(frame);
    api.unref(frame);
    frame = outer;
  }
  if (frame != nullptr) api.unref(frame);
  api.release(state);
  return lines;
}

std::string indent(const std::string& lines) {
  std::string result;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    result += "      " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

}  // namespace opwright::order
