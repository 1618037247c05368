// native/live/call/c_call.cpp
#include "live/call/c_call.h"

namespace opwright::live {
namespace {

template <size_t>
using Word = uint64_t;
template <size_t>
using Real = double;

template <size_t... I, size_t... R, size_t... S>
int call(void* function, const uint64_t* integers, const double* reals, const uint64_t* slots,
         std::index_sequence<I...>, std::index_sequence<R...>, std::index_sequence<S...>) {
  using Function = int (*)(Word<I>..., Real<R>..., Word<S>...);
  return reinterpret_cast<Function>(function)(integers[I]..., reals[R]..., slots[S]...);
}

}  // namespace

int CCall::operator()(void* function) const noexcept(false) {
  const auto with = [&](auto slots) {
    return call(function, integer_.data(), real_.data(), slot_.data(), std::make_index_sequence<kIntegerRegisters>(),
                std::make_index_sequence<kRealRegisters>(), slots);
  };
  if (slots_ <= 4) return with(std::make_index_sequence<4>());
  if (slots_ <= 16) return with(std::make_index_sequence<16>());
  return with(std::make_index_sequence<kStackSlots>());
}

}  // namespace opwright::live
