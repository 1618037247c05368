// conversion/on_behalf_of.h: calls of code that opwright did not write. Its errors get the node that they are about.
#pragma once

#include <c10/util/Exception.h>
#include <c10/util/Type.h>
#include <cxxabi.h>
#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <typeinfo>

#include "conversion/conversion.h"
#include "core/util/jit_util.h"

namespace torch_aie::core::conversion {

/// The type of the exception that is being handled: "int".
inline std::string thrown_type() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  return type ? c10::demangle(type->name()) : "an exception of another language";
}

/// Returns what `call` returns. Throws Declined for c10::NotImplementedError, which leaves the node to libtorch, and
/// c10::ValueError with the node and its source line for everything else that is thrown.
template <class Call>
auto on_behalf_of(const torch::jit::Node* node, Call&& call) -> decltype(call()) {
  const auto where = [node] { return util::nodeInfo(node); };  // a text that only errors need
  try {
    return call();
  } catch (const c10::NotImplementedError& e) {
    throw Declined(node, where() + ": " + e.what_without_backtrace());
  } catch (const c10::Error& e) {
    TORCH_CHECK_VALUE(false, where(), ": ", e.what_without_backtrace());
  } catch (const std::exception& e) {
    TORCH_CHECK_VALUE(false, where(), ": ", e.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled
  } catch (...) {
    TORCH_CHECK_VALUE(false, where(), ": ", thrown_type(),
                      " was thrown; throw a std::exception or use TORCH_CHECK, so that the message says why");
  }
}

}  // namespace torch_aie::core::conversion
