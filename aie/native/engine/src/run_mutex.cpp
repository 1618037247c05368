// run_mutex.cpp
#include "run_mutex.h"

#include <pthread.h>

namespace AscendIE {

std::mutex& run_mutex() {
  static std::mutex* const mutex = [] {
    auto* const made = new std::mutex;  // never freed: tensors may live until the process ends
    pthread_atfork([] { run_mutex().lock(); }, [] { run_mutex().unlock(); }, [] { run_mutex().unlock(); });
    return made;
  }();
  return *mutex;
}

}  // namespace AscendIE
