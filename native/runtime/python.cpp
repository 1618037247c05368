// native/runtime/python.cpp
#include "runtime/python.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

#include "runtime/device.h"

namespace opwright {
namespace {

// CPython's C API, as far as it is needed; objects are opaque.
struct Python {
  using Object = void;
  int (*is_initialized)();
  int (*ensure)();
  void (*release)(int);
  Object* (*import_module)(const char*);
  Object* (*call_method)(Object*, const char*, const char*, ...);
  void (*fetch_error)(Object**, Object**, Object**);
  void (*normalize_error)(Object**, Object**, Object**);
  Object* (*str)(Object*);
  const char* (*utf8)(Object*);
  void (*unref)(Object*);

  Python() {
    load(is_initialized, "Py_IsInitialized");
    load(ensure, "PyGILState_Ensure");
    load(release, "PyGILState_Release");
    load(import_module, "PyImport_ImportModule");
    load(call_method, "PyObject_CallMethod");
    load(fetch_error, "PyErr_Fetch");
    load(normalize_error, "PyErr_NormalizeException");
    load(str, "PyObject_Str");
    load(utf8, "PyUnicode_AsUTF8");
    load(unref, "Py_DecRef");
  }
  bool running() const { return is_initialized != nullptr && is_initialized() != 0; }

 private:
  template <class Function>
  static void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

// Holds the interpreter lock.
class Locked {
 public:
  explicit Locked(const Python& python) : python_(python), state_(python.ensure()) {}
  ~Locked() { python_.release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const Python& python_;
  const int state_;
};

// The text of the pending exception, which is thereby handled.
std::string take_error(const Python& python) {
  void *type = nullptr, *value = nullptr, *traceback = nullptr;
  python.fetch_error(&type, &value, &traceback);
  python.normalize_error(&type, &value, &traceback);
  void* const words = value == nullptr ? nullptr : python.str(value);
  const char* const bytes = words == nullptr ? nullptr : python.utf8(words);
  std::string result = bytes == nullptr ? "an exception without text" : bytes;
  for (void* const object : {words, traceback, value, type}) python.unref(object);  // null is allowed
  return result;
}

const Python& interpreter() {
  static const Python python;
  return python;
}

}  // namespace

bool python_has_ended() { return interpreter().is_initialized != nullptr && !interpreter().running(); }

bool call_python(const char* module, const char* function, const char* argument, int code, const char* what) {
  const Python& python = interpreter();
  if (!python.running()) return false;
  const Locked locked(python);
  void* const imported = python.import_module(module);
  void* const result = imported == nullptr ? nullptr : python.call_method(imported, function, "s", argument);
  const std::string error = result == nullptr ? take_error(python) : std::string();
  python.unref(result);
  python.unref(imported);
  require(result != nullptr, code, what, error);
  return true;
}

std::shared_lock<std::shared_mutex> PythonGate::pass(int code) {
  auto lock = try_pass();
  require(lock.owns_lock(), code, "Python has ended before the operator ran; synchronize before the program ends");
  return lock;
}

std::shared_lock<std::shared_mutex> PythonGate::try_pass() {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  if (closed_) lock.unlock();
  return lock;
}

void PythonGate::close() {
  for (const auto& stream : streams().all()) stream->wait(std::nullopt);
  const std::unique_lock<std::shared_mutex> closing(mutex_);
  closed_ = true;
}

}  // namespace opwright
