// native/runtime/call.h
// The form that every exported function has. An implemented one:
//
//   aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
//     return call("aclrtMalloc", [&] { ... }, arg("size", size));
//   }
//
// The body throws opwright::Error; `call` traces it, records the error for the thread and returns the code.
// A function that the twin does not have:
//
//   OPWRIGHT_REFUSE(aclError, aclrtFoo, (void* p, int n), "device binaries cannot run on a CPU")
//
// The macro also writes the name into the ELF section .opwright_refused, from which `opwright twin coverage` reads it.
#pragma once

#include <utility>

#include "runtime/error.h"
#include "runtime/trace.h"

namespace opwright {

// For a call whose arguments appear in the trace only after its body has looked at them: the body adds them to `span`.
template <class Body>
int call_in(trace::Span& span, const char* function, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return ACL_SUCCESS;
  } catch (...) {
    const int code = record_current_exception(function);
    span.add_error(code);
    return code;
  }
}

template <class Body, class... Args>
int call(const char* function, Body&& body, const Args&... args) noexcept {
  trace::Span span(function, args...);
  return call_in(span, function, std::forward<Body>(body));
}

template <class T>
struct Arg {
  const char* name;
  const T& value;
};

template <class T>
Arg<T> arg(const char* name, const T& value) {
  return {name, value};
}

// For out-parameters: null is the caller's mistake, and CANN answers it with 107000.
template <class T>
T& out(T* pointer, const char* name, int code = ACL_ERROR_RT_PARAM_INVALID) {
  if (pointer == nullptr) fail(code, "parameter '", name, "' is null");
  return *pointer;
}

}  // namespace opwright

#define OPWRIGHT_MARK_REFUSED(NAME) \
  __asm__(".pushsection .opwright_refused,\"a\",@progbits\n.asciz \"" #NAME "\"\n.popsection\n")

#define OPWRIGHT_REFUSE_WITH(TYPE, NAME, PARAMS, CODE, WHY) \
  OPWRIGHT_MARK_REFUSED(NAME);                              \
  extern "C" OPWRIGHT_API TYPE NAME PARAMS { return static_cast<TYPE>(::opwright::refuse(#NAME, WHY, CODE)); }

#define OPWRIGHT_REFUSE(TYPE, NAME, PARAMS, WHY) \
  OPWRIGHT_REFUSE_WITH(TYPE, NAME, PARAMS, ACL_ERROR_FEATURE_UNSUPPORTED, WHY)
