// profiles.h: inputs whose shape is not fixed: ranges of sizes, and gears (several profiles, one of which all inputs
// fit).
#pragma once

#include <vector>

#include "impl.h"
#include "program.h"

namespace AscendIE {

/// The sizes with which layers are inferred: the samples; without any, the ends of a range or the shapes of the gears.
/// Throws c10::Error for profiles that are none.
std::vector<Inferred> choices_of(const std::vector<DimsRange>& profiles, const std::vector<Dims>& samples,
                                 at::ScalarType type);
void expect_as_many_choices(const TensorImpl& input, const TensorImpl& other);
/// Empty for a fixed shape.
std::vector<ShapeRange> ranges_of(const std::vector<DimsRange>& profiles);

/// Throws c10::Error that names the input, its type or shape, and what is allowed.
void check_inputs(const std::vector<Binding>& bindings, const Tensors& given);

}  // namespace AscendIE
