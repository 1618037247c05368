// common/NoCopy.h: base of what has an identity.
#ifndef ASCENDIE_COMMON_NOCOPY_H
#define ASCENDIE_COMMON_NOCOPY_H

namespace AscendIE {

class NoCopy {
 public:
  NoCopy() = default;
  NoCopy(const NoCopy&) = delete;
  NoCopy& operator=(const NoCopy&) = delete;

 protected:
  ~NoCopy() = default;
};

}  // namespace AscendIE
#endif
