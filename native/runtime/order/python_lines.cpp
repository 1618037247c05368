#include "runtime/order/python_lines.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

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
  void* (*interpreter)() = nullptr;
  void* (*first_thread)(void*) = nullptr;
  void* (*next_thread)(void*) = nullptr;
  void* (*frame_of_thread)(void*) = nullptr;
  void* (*attribute)(void*, const char*) = nullptr;
  const char* (*utf8)(void*) = nullptr;
  void (*ref)(void*) = nullptr;
  void (*unref)(void*) = nullptr;
  void (*clear_error)() = nullptr;
  void (*fetch_error)(void**, void**, void**) = nullptr;
  void (*restore_error)(void*, void*, void*) = nullptr;

  Python() noexcept {
    load(is_initialized, "Py_IsInitialized");
    load(thread_state, "PyGILState_GetThisThreadState");
    load(ensure, "PyGILState_Ensure");
    load(release, "PyGILState_Release");
    load(frame, "PyEval_GetFrame");
    load(frame_back, "PyFrame_GetBack");
    load(frame_code, "PyFrame_GetCode");
    load(frame_line, "PyFrame_GetLineNumber");
    load(interpreter, "PyInterpreterState_Get");
    load(first_thread, "PyInterpreterState_ThreadHead");
    load(next_thread, "PyThreadState_Next");
    load(frame_of_thread, "PyThreadState_GetFrame");
    load(attribute, "PyObject_GetAttrString");
    load(utf8, "PyUnicode_AsUTF8");
    load(ref, "Py_IncRef");
    load(unref, "Py_DecRef");
    load(clear_error, "PyErr_Clear");
    load(fetch_error, "PyErr_Fetch");
    load(restore_error, "PyErr_Restore");
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

// An exception may be on its way when a task is launched; with one, calls into Python fail.
class ErrorAside {
 public:
  ErrorAside() { python().fetch_error(&type_, &value_, &traceback_); }
  ~ErrorAside() { python().restore_error(type_, value_, traceback_); }
  ErrorAside(const ErrorAside&) = delete;
  ErrorAside& operator=(const ErrorAside&) = delete;

 private:
  void* type_ = nullptr;
  void* value_ = nullptr;
  void* traceback_ = nullptr;
};

std::string text_of(void* object, const char* attribute) {
  const Object value(python().attribute(object, attribute));
  const char* const bytes = value.get() == nullptr ? nullptr : python().utf8(value.get());
  if (bytes == nullptr) python().clear_error();
  return bytes == nullptr ? "?" : bytes;
}

bool is_of_framework(const std::string& file) {
  // The last one wraps functions of torch.
  static constexpr std::array<const char*, 5> kPackages = {"/site-packages/torch/", "/site-packages/torch_npu/",
                                                           "/site-packages/torchair/", "/site-packages/opwright/",
                                                           "/site-packages/typing_extensions.py"};
  for (const char* const package : kPackages) {
    if (file.find(package) != std::string::npos) return true;
  }
  return false;
}

// The innermost lines that are the program's own.
class Lines {
 public:
  bool are_full() const noexcept { return count_ == kMostLines; }
  // `describe` gives the rest of the line.
  template <class Describe>
  void add(const std::string& file, const Describe& describe) {
    if (are_full() || is_of_framework(file)) return;
    lines_ += text(count_++ == 0 ? "" : "\n", file, ":", describe());
  }
  std::string take() noexcept { return std::move(lines_); }

 private:
  std::string lines_;
  int count_ = 0;
};

// A frame, which it owns a reference to, and its file.
class Frames {
 public:
  explicit Frames(void* innermost) : frame_(innermost) {}
  ~Frames() {
    if (frame_ != nullptr) python().unref(frame_);
  }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  bool are_over() const noexcept { return frame_ == nullptr; }
  std::string file() const { return of_code("co_filename"); }
  std::string function() const { return of_code("co_name"); }
  int line() const { return python().frame_line(frame_); }
  void go_out() {
    void* const outer = python().frame_back(frame_);
    python().unref(frame_);
    frame_ = outer;
  }

 private:
  std::string of_code(const char* attribute) const {
    const Object code(python().frame_code(frame_));
    return text_of(code.get(), attribute);
  }

  void* frame_;
};

std::string lines_of(Frames& frames) {
  Lines lines;
  for (; !frames.are_over() && !lines.are_full(); frames.go_out()) {
    lines.add(frames.file(), [&] { return text(frames.line(), " in ", frames.function()); });
  }
  return lines.take();
}

// Autograd's threads run operators for a thread that waits for them in this function of torch's.
bool is_in_backward(const Frames& frames) {
  static const std::string kFile = "/torch/autograd/graph.py";
  const std::string file = frames.file();
  return frames.function() == "_engine_run_backward" && file.size() >= kFile.size() &&
         file.compare(file.size() - kFile.size(), kFile.size(), kFile) == 0;
}

// Where the program has called backward, if one thread alone is in it: for which one a thread of autograd works is not
// known.
std::string lines_of_backward() {
  const Python& api = python();
  std::string found;
  size_t count = 0;
  for (void* thread = api.first_thread(api.interpreter()); thread != nullptr; thread = api.next_thread(thread)) {
    Frames frames(api.frame_of_thread(thread));
    if (frames.are_over() || !is_in_backward(frames)) continue;
    if (++count > 1) return "";
    found = lines_of(frames);
  }
  return found.empty() ? "" : "in the backward of " + found;
}

}  // namespace

std::string python_lines() {
  const Python& api = python();
  if (!api.knows_this_thread()) return "";
  const int state = api.ensure();
  std::string lines;
  {
    const ErrorAside aside;
    void* const innermost = api.frame();
    if (innermost == nullptr) {
      lines = lines_of_backward();
    } else {
      api.ref(innermost);
      Frames frames(innermost);
      lines = lines_of(frames);
    }
  }
  api.release(state);
  return lines;
}

std::string python_lines(Place& place) {
  Lines lines;
  for (const Frame& frame : place.frames()) {
    lines.add(frame.file, [&] { return text(frame.line, " in ", frame.function); });
  }
  return lines.take();
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
