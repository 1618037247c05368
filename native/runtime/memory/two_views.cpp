#include "runtime/memory/two_views.h"

#include <sys/mman.h>

#include "runtime/memory/memory_space.h"
#include "runtime/memory/shared_file.h"

namespace opwright::memory {

TwoViews::TwoViews(size_t bytes) : bytes_(whole_pages(bytes)) {
  const SharedFile file(bytes_);  // its memory lives as long as a view of it
  of_owner_ = file.map();
  try {
    of_twin_ = file.map();
  } catch (const Error&) {
    munmap(of_owner_, bytes_);
    throw;
  }
}

TwoViews::~TwoViews() {
  munmap(of_owner_, bytes_);
  munmap(of_twin_, bytes_);
}

}  // namespace opwright::memory
