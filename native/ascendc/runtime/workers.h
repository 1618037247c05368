// native/ascendc/runtime/workers.h
// Threads that run cores. They stay for the next launch.
#pragma once

#include <functional>

namespace AscendC::machine {

// How many cores run at the same time unless some of them wait.
unsigned processors();

// Runs `work` on an idle thread, or on a new one. False, and nothing has happened, if the system gives no thread.
bool run_on_worker(std::function<void()> work);

}  // namespace AscendC::machine
