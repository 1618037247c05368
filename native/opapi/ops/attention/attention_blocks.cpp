// native/opapi/ops/attention/attention_blocks.cpp
#include "opapi/ops/attention/attention_blocks.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "opapi/declare.h"

#if AT_PARALLEL_OPENMP && !defined(_OPENMP)
#error "at::parallel_for would run every block on one thread"
#endif

namespace opwright::opapi::attention {

namespace {

constexpr int64_t kScores = 1 << 16;       // of a block: as float32 they take a quarter of a usual second-level cache
constexpr int64_t kLeastScores = 1 << 14;  // fewer are not worth the calls of ATen that a block costs
constexpr int64_t kRowStep = 16;           // rows of a block are a multiple of it
constexpr int64_t kMostRows = 256;
constexpr int64_t kMostMaskedRows = 64;  // leaves out more of the keys that a causal mask hides

struct Block {
  int64_t batch, head, heads;  // of key and value
  int64_t groups;              // heads of the query for each
  int64_t row, rows;
  int64_t clear;  // so many keys, from the first on, are seen by all of its queries
  int64_t keys;   // no query sees one beyond these

  // The block's part of a tensor that broadcasts to the scores, [B, N, S, keys].
  at::Tensor of_scores(at::Tensor tensor) const {
    if (!tensor.defined()) return tensor;
    while (tensor.dim() < 4) tensor = tensor.unsqueeze(0);
    const auto cut = [&](int64_t dim, int64_t start, int64_t length) {
      if (tensor.size(dim) > 1) tensor = tensor.narrow(dim, start, length);
    };
    cut(0, batch, 1);
    cut(1, head * groups, heads * groups);
    cut(2, row, rows);
    cut(3, 0, keys);
    return tensor;
  }

  // Of a tensor with a row for each query, [B, N, S, _], and for each key, [B, N / groups, keys, _].
  at::Tensor of_rows(const at::Tensor& tensor) const {
    return tensor.narrow(0, batch, 1).narrow(1, head * groups, heads * groups).narrow(2, row, rows);
  }
  at::Tensor of_keys(const at::Tensor& tensor) const {
    return tensor.narrow(0, batch, 1).narrow(1, head, heads).narrow(2, 0, keys);
  }
  at::Tensor of_heads(const at::Tensor& sink) const {
    return sink.defined() ? sink.reshape(-1).narrow(0, head * groups, heads * groups) : sink;
  }

  Problem of(const Problem& whole) const {
    Problem part = whole;
    part.query = of_rows(whole.query);
    part.key = of_keys(whole.key);
    part.value = of_keys(whole.value);
    part.hidden = of_scores(whole.hidden);
    part.clear = clear;
    part.position = of_scores(whole.position);
    part.drop = of_scores(whole.drop);
    part.sink = of_heads(whole.sink);
    return part;
  }
};

// How a problem is cut: every block has that many heads of key and value and that many queries, or what is left.
struct Cut {
  int64_t heads, rows;
};

bool has_one_mask(const Problem& problem) {
  return problem.hidden.defined() && problem.hidden.dim() == 2 && problem.hidden.size(1) == problem.key.size(2);
}

// A problem that is computed as a whole has no cut: a small one, and one whose body only asks whether it is allowed.
std::optional<Cut> choose_cut(const Problem& problem) {
  const int64_t key_heads = problem.key.size(1), queries = problem.query.size(2), keys = problem.key.size(2);
  const int64_t groups = key_heads > 0 ? problem.query.size(1) / key_heads : 0;
  if (is_dry_run() || groups * key_heads != problem.query.size(1)) return std::nullopt;  // forward refuses the latter
  const int64_t all = problem.query.size(0) * problem.query.size(1) * queries * keys;
  if (all < 2 * kLeastScores) return std::nullopt;
  const int64_t wanted = std::clamp(all / at::get_num_threads(), kLeastScores, kScores);
  const int64_t most = std::min(queries, has_one_mask(problem) ? kMostMaskedRows : kMostRows);
  const int64_t fitting = wanted / (groups * keys) / kRowStep * kRowStep;
  const int64_t rows = std::min(most, std::max(fitting, kRowStep));
  return Cut{std::clamp<int64_t>(wanted / (groups * rows * keys), 1, key_heads), rows};
}

struct Seen {
  int64_t by_all, by_any;  // keys, from the first on
};

Seen seen_keys(const at::Tensor& hidden, int64_t row, int64_t rows) {
  const at::Tensor mask = hidden.size(0) > 1 ? hidden.narrow(0, row, rows) : hidden;
  const at::Tensor from_any = mask.any(0), from_all = mask.all(0);
  const bool* const any = from_any.const_data_ptr<bool>();
  const bool* const all = from_all.const_data_ptr<bool>();
  const int64_t keys = from_any.numel();
  Seen seen{0, keys};
  while (seen.by_all < keys && !any[seen.by_all]) ++seen.by_all;
  while (seen.by_any > 1 && all[seen.by_any - 1]) --seen.by_any;
  return seen;
}

// In the order of sequences, then heads, then rows.
std::vector<Block> blocks_of(const Problem& problem, const Cut& cut) {
  const int64_t queries = problem.query.size(2), keys = problem.key.size(2), heads = problem.key.size(1);
  const bool one_mask = has_one_mask(problem);
  std::vector<Seen> seen;
  for (int64_t row = 0; row < queries; row += cut.rows) {
    const int64_t rows = std::min(cut.rows, queries - row);
    seen.push_back(one_mask ? seen_keys(problem.hidden, row, rows) : Seen{0, keys});
  }
  std::vector<Block> blocks;
  for (int64_t batch = 0; batch < problem.query.size(0); ++batch) {
    for (int64_t head = 0; head < heads; head += cut.heads) {
      for (int64_t row = 0; row < queries; row += cut.rows) {
        const auto [clear, last] = seen[row / cut.rows];
        blocks.push_back({batch, head, std::min(cut.heads, heads - head), problem.query.size(1) / heads, row,
                          std::min(cut.rows, queries - row), clear, last});
      }
    }
  }
  return blocks;
}

// compute(i) for each i below `count`, several at once: each runs on one thread then. One alone has all threads.
template <class Compute>
void compute_at_once(int64_t count, const Compute& compute) {
  if (count == 1) return compute(0);
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;  // ATen's threads do not have the caller's state
    const c10::NoGradGuard no_grad;
    for (int64_t i = begin; i < end; ++i) compute(i);
  });
}

}  // namespace

Result forward_in_blocks(const Problem& problem) {
  const std::optional<Cut> cut = choose_cut(problem);
  if (!cut) return forward(problem);
  at::DimVector rows(problem.query.sizes());
  rows[3] = 1;
  const at::TensorOptions options = problem.query.options();
  Result result;
  result.highest = at::empty(rows, options);
  result.sum = at::empty(rows, options);
  result.blind = at::empty(rows, options.dtype(at::kBool));
  rows[3] = problem.value.size(3);
  result.out = at::empty(rows, options);
  const std::vector<Block> blocks = blocks_of(problem, *cut);
  compute_at_once(static_cast<int64_t>(blocks.size()), [&](int64_t i) {
    const Result part = forward(blocks[i].of(problem));
    blocks[i].of_rows(result.out).copy_(part.out);
    blocks[i].of_rows(result.highest).copy_(part.highest);
    blocks[i].of_rows(result.sum).copy_(part.sum);
    blocks[i].of_rows(result.blind).copy_(part.blind);
  });
  return result;
}

Gradients backward_in_blocks(const Problem& problem, const at::Tensor& grad, const at::Tensor& highest,
                             const at::Tensor& sum) {
  const std::optional<Cut> cut = choose_cut(problem);
  if (!cut) return backward(problem, grad, highest, sum);
  Gradients result;
  result.query = at::empty(problem.query.sizes(), problem.query.options());
  result.key = at::zeros(problem.key.sizes(), problem.key.options());
  result.value = at::zeros(problem.value.sizes(), problem.value.options());
  if (problem.position.defined()) {
    at::DimVector scores(problem.query.sizes());
    scores[3] = problem.key.size(2);
    result.position = at::zeros(scores, problem.query.options());
  }
  if (problem.sink.defined()) result.sink = at::zeros({problem.query.size(1)}, problem.query.options());
  // Blocks of one head add to the same gradients of keys, values and its sink: they stay on one thread, in their order.
  const std::vector<Block> blocks = blocks_of(problem, *cut);
  const int64_t key_heads = problem.key.size(1);
  compute_at_once((key_heads + cut->heads - 1) / cut->heads, [&](int64_t i) {
    for (const Block& block : blocks) {
      if (block.head != i * cut->heads) continue;
      const Gradients part =
          backward(block.of(problem), block.of_rows(grad), block.of_rows(highest), block.of_rows(sum));
      block.of_rows(result.query).copy_(part.query);
      block.of_keys(result.key).add_(part.key);
      block.of_keys(result.value).add_(part.value);
      if (part.position.defined()) block.of_scores(result.position).copy_(part.position);
      if (part.sink.defined()) block.of_heads(result.sink).add_(part.sink);
    }
  });
  return result;
}

}  // namespace opwright::opapi::attention
