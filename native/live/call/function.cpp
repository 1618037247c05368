// native/live/call/function.cpp
#include "live/call/function.h"

#include "live/call/c_call.h"
#include "live/call/reference.h"

namespace opwright::live {
namespace {

bool add(CCall& call, CType ctype, const Value& value) {
  switch (ctype) {
    case CType::kInteger:
    case CType::kBool:
    case CType::kDtype:
      return call.add(static_cast<uint64_t>(value.integer));
    case CType::kDouble:
      return call.add(value.real);
    case CType::kFloat:
      return call.add(static_cast<float>(value.real));
    default:
      return call.add(static_cast<const void*>(value.object));
  }
}

class LibraryFunction final : public Function {
 public:
  LibraryFunction(void* phase1, void* phase2) : phase1_(phase1) { phase2_.address = phase2; }

  int phase1(const Plan& plan, const Values& values, uint64_t* workspace_size,
             aclOpExecutor** executor) const override {
    CCall call;
    bool fits = true;
    for (size_t i = 0; i < values.size(); ++i) fits = add(call, plan.parameters[i].ctype, values[i]) && fits;
    fits = call.add(static_cast<const void*>(workspace_size)) && call.add(static_cast<const void*>(executor)) && fits;
    TORCH_CHECK(fits, plan.name, ": ", plan.function, " takes ", values.size(), " parameters; at most ",
                CCall::kStackSlots, " can be passed on the stack");
    return call(phase1_);
  }
  npu::Phase2 phase2() const override { return phase2_; }

 private:
  void* phase1_;
  npu::Phase2 phase2_;
};

}  // namespace

std::unique_ptr<const Function> find_function(const Plan& plan) {
  void* const phase1 = npu::find(plan.phase1);
  void* const phase2 = npu::find(plan.function);
  const bool is_there = phase1 != nullptr && phase2 != nullptr;
  if (is_there && !is_stand_in(phase1)) return std::make_unique<LibraryFunction>(phase1, phase2);
  auto reference = find_reference(plan);
  if (is_there && reference == nullptr) return std::make_unique<LibraryFunction>(phase1, phase2);
  TORCH_CHECK(reference != nullptr, plan.name, ": ", plan.function, " or ", plan.phase1,
              " is neither in libcust_opapi.so (the packages in ASCEND_CUSTOM_OPP_PATH) nor in libopapi.so (CANN), and "
              "the twin has no reference function for it. Install the package of custom operators that has it, correct "
              "the name, or declare its reference function with opwright.twin.kernel");
  return reference;
}

bool has_function(const std::string& name) {
  void* const phase1 = npu::find(name + "GetWorkspaceSize");
  const bool is_there = phase1 != nullptr && npu::find(name) != nullptr;
  return (is_there && !is_stand_in(phase1)) || has_reference(name);
}

}  // namespace opwright::live
