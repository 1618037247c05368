// native/ascendc/kernel/core/cache.h
// Caches of a core. Cores see each other's global memory at once here, so these calls have nothing to do.
#pragma once

#include "core/global_tensor.h"
#include "core/local_tensor.h"

namespace AscendC {

enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

template <class T, CacheLine entireType, DcciDst dcciDst>
OPWRIGHT_INLINE void DataCacheCleanAndInvalid(const GlobalTensor<T>&) {}
template <class T, CacheLine entireType, DcciDst dcciDst>
OPWRIGHT_INLINE void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}
template <class T, CacheLine entireType>
OPWRIGHT_INLINE void DataCacheCleanAndInvalid(const GlobalTensor<T>&) {}
template <class T>
OPWRIGHT_INLINE void DataCachePreload(const GlobalTensor<uint64_t>&, T) {}
OPWRIGHT_INLINE void ICachePreLoad(int64_t) {}
OPWRIGHT_INLINE int64_t GetICachePreloadStatus() { return 0; }

}  // namespace AscendC
