// native/runtime/observer.cpp
#include "runtime/observer.h"

namespace opwright {

std::atomic<Observer*> current_observer{nullptr};

}  // namespace opwright
