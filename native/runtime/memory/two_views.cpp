#include "runtime/memory/two_views.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/memory/memory_space.h"
#include "runtime/memory/shared_file.h"

namespace opwright::memory {
namespace {

void* map(const SharedFile& file) {
  void* const view = mmap(nullptr, file.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  require(view != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map ", file.bytes(),
          " bytes: ", std::strerror(errno));
  return view;
}

}  // namespace

TwoViews::TwoViews(size_t bytes) : bytes_(whole_pages(bytes)) {
  const SharedFile file(bytes_);  // its memory lives as long as a view of it
  of_owner_ = map(file);
  try {
    of_twin_ = map(file);
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
