// validation.h: models come from files. What passes and kernels take for granted is looked at when one is loaded.
#pragma once

#include <c10/util/Exception.h>

#include <stdexcept>
#include <variant>

#include "program.h"

namespace AscendIE {

/// Throws c10::Error that says what is damaged.
void validate(const Program& program);

/// The result of `run`. An attribute of another kind than its layer takes, or an operand that is not there, is a
/// c10::Error.
template <class Run>
auto undamaged(const Run& run) {
  try {
    return run();
  } catch (const std::bad_variant_access&) {
    TORCH_CHECK_VALUE(false, "model: it is damaged: an attribute has another kind than its layer takes");
  } catch (const std::out_of_range& e) {
    TORCH_CHECK_VALUE(false, "model: it is damaged: a layer has no operand or result of a number it uses (", e.what(),
                      ")");
  }
}

}  // namespace AscendIE
