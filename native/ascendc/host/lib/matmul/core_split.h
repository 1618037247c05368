// host/lib/matmul/core_split.h
// How MultiCoreMatmulTiling divides M and N among cores when SetShape was called. Kernels depend on it: some expect
// that small matrices get one core, or that N is divided. Source: asc-devkit, impl/adv_api/tiling/matmul (what decides
// between two divisions, and in which order they are tried); verified with the examples that state their division.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

namespace matmul_tiling {

// Sizes in fractals; memories in bytes.
struct SplitProblem {
  int32_t m, n, k;
  int32_t cores;
  bool a_turned, b_turned;
  int64_t l0a, l0c, l1;
};
struct CoreSplit {
  int32_t m = 1, n = 1;
};

namespace detail {

inline constexpr int32_t kWideEnough = 16;  // fractals of a core's share whose rows are read well
inline constexpr int64_t kStepBytes = 512;  // of a fractal

inline int32_t pieces(int64_t number, int64_t unit) { return static_cast<int32_t>((number + unit - 1) / unit); }

// The next power of two; small numbers and those beyond 1024 stay.
inline int32_t round_to_power(int32_t number) {
  constexpr int32_t kLeast = 16;
  constexpr int32_t kMost = 2048;
  if (number < kLeast) return number;
  int32_t power = 2 * kLeast;
  while (power < number && power < kMost) power *= 2;
  return power;
}

inline std::set<int32_t> divisors(int32_t size, int32_t cores) {
  std::set<int32_t> result;
  for (int32_t i = 1; i <= std::min(cores, size); ++i) {
    if (size % i == 0 || round_to_power(size) % i == 0 || cores % i == 0) result.insert(i);
  }
  return result;
}

// The cost of one division.
struct SplitCost {
  int64_t blocks;  // steps of a core
  int64_t loads;   // fractals of A and B that all cores read, per step along K
};

inline SplitCost cost_of(const SplitProblem& p, const CoreSplit& split) {
  constexpr int32_t kMostBlock = 128;
  constexpr int32_t kMostK = 64;
  const int32_t m = pieces(p.m, split.m);
  const int32_t n = pieces(p.n, split.n);
  const int32_t n0 = std::min(kWideEnough, n);
  const int32_t m0 = std::min({m, kMostBlock / n0, kMostK});
  const int32_t wider_n0 = std::min({n, kMostBlock / m0, kMostK});
  const int32_t last_m0 = std::min({m, kMostBlock / wider_n0, kMostK});
  const int32_t k0 = std::min({kMostK / last_m0, kMostK / wider_n0, p.k});
  SplitCost cost{int64_t{pieces(m, last_m0)} * pieces(n, wider_n0) * pieces(p.k, std::max(k0, 1)), INT64_MAX};

  const int64_t line = p.k * kStepBytes;
  const int32_t low_m0 = std::min(kWideEnough, m0);
  const int64_t low_k0 = std::min({kMostK / low_m0, kMostK / n0, p.k}) * kStepBytes;
  const auto fits = [&](int64_t bytes) { return bytes <= p.l1; };
  const int64_t a_by_n = int64_t{p.m} * split.n;
  const int64_t b_by_m = int64_t{p.n} * split.m;
  const int64_t a_by_blocks = int64_t{p.m} * pieces(p.n, n0);
  const int64_t b_by_blocks = int64_t{p.n} * pieces(p.m, low_m0);
  if (fits((m + n) * line) || fits((m + 2 * n0) * line) || fits((n + 2 * low_m0) * line)) {
    cost.loads = a_by_n + b_by_m;
  } else if (!fits(2 * (n0 * line + low_m0 * low_k0)) && !fits(2 * (low_m0 * line + n0 * low_k0))) {
    cost.loads = a_by_blocks + b_by_blocks;
  } else if (fits(2 * (low_m0 + n0) * line)) {
    const int64_t kept_m = int64_t{pieces(p.l1 - 2 * n0 * line, 2 * line * low_m0)} * low_m0;
    const int64_t kept_n = int64_t{pieces(p.l1 - 2 * low_m0 * line, 2 * line * n0)} * n0;
    const int64_t a_first = a_by_n + int64_t{p.n} * pieces(p.m, kept_m);
    const int64_t b_first = b_by_m + int64_t{p.m} * pieces(p.n, kept_n);
    cost.loads = std::min(a_first, b_first);
  } else {
    if (fits(m * line + 2 * n0 * low_k0) || fits(2 * (low_m0 * line + n0 * low_k0))) cost.loads = a_by_n + b_by_blocks;
    if (fits(n * line + 2 * low_m0 * low_k0) || fits(2 * (n0 * line + low_m0 * low_k0))) {
      cost.loads = std::min(cost.loads, b_by_m + a_by_blocks);
    }
  }
  return cost;
}

}  // namespace detail

inline CoreSplit split_over_cores(const SplitProblem& p) {
  using namespace detail;
  // Small matrices stay together.
  constexpr int32_t kTogether = 32;
  const int64_t l0_fractals = p.l0a / kStepBytes;
  if (int64_t{p.m} * p.n <= p.cores && int64_t{p.m} * p.k <= l0_fractals && int64_t{p.n} * p.k <= l0_fractals &&
      int64_t{p.m} * p.n <= p.l0c / 1024) {
    const auto parts = [](int32_t size) { return size <= kTogether ? 1 : round_to_power(size) / kTogether; };
    return {parts(p.m), parts(p.n)};
  }
  std::set<int32_t> m_parts = divisors(p.m, p.cores);
  std::set<int32_t> n_parts = divisors(p.n, p.cores);
  if (p.cores > 1) {  // what divides both axes alike
    const double ideal = std::sqrt(double(p.m) / p.n * p.cores);
    const auto m = static_cast<int32_t>(std::ceil(ideal));
    const auto n = static_cast<int32_t>(std::ceil(p.cores / ideal));
    m_parts.insert({m, p.cores / n});
    n_parts.insert({n, p.cores / m});
  }
  CoreSplit best;
  SplitCost best_cost{INT64_MAX, INT64_MAX};
  int32_t best_cores = 1;
  bool best_reads_well = false;
  for (const int32_t n : n_parts) {
    for (const int32_t m : m_parts) {
      if (m <= 0 || n <= 0 || m * n > p.cores) continue;
      const CoreSplit split{m, n};
      const SplitCost cost = cost_of(p, split);
      // Rows that are read along N (along M if A is turned) should not be short unless the matrix itself is narrow.
      const bool n_short = !p.b_turned && p.n >= kWideEnough && pieces(p.n, n) < kWideEnough;
      const bool m_short = p.a_turned && p.m >= kWideEnough && pieces(p.m, m) < kWideEnough;
      const bool rows_matter = !(p.b_turned && !p.a_turned);
      const bool better_rows = rows_matter && !best_reads_well && !n_short && !m_short;
      const bool worse_rows = rows_matter && best_reads_well && (n_short || m_short);
      if (worse_rows) continue;
      const bool faster = cost.blocks < best_cost.blocks || (m * n > best_cores && cost.blocks == best_cost.blocks);
      const bool reads_less = m * n == best_cores && cost.loads < best_cost.loads;
      const bool more_parts = m * n == best_cores && cost.loads == best_cost.loads && best.m * best.n < m * n;
      if (!better_rows && !faster && !reads_less && !more_parts) continue;
      best = split;
      best_cost = cost;
      best_cores = m * n;
      best_reads_well =
          (p.b_turned || pieces(p.n, n) >= kWideEnough) && (!p.a_turned || pieces(p.m, m) >= kWideEnough) && m * n > 1;
    }
  }
  return best;
}

}  // namespace matmul_tiling
