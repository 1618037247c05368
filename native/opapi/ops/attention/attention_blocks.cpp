// native/opapi/ops/attention/attention_blocks.cpp
#include "opapi/ops/attention/attention_blocks.h"

#include <algorithm>

namespace opwright::opapi::attention {

namespace {

constexpr int64_t kRows = 128;  // of a block: with 2,048 keys its scores take 1 MiB, half of a usual second-level cache
constexpr int64_t kWhole = 1 << 19;  // so many scores are computed at once

struct Block {
  int64_t batch, head;  // of key and value
  int64_t groups;       // heads of the query for each
  int64_t row, rows;
  int64_t keys;  // the first so many are seen

  // The block's part of a tensor that broadcasts to the scores, [B, N, S, keys].
  at::Tensor of_scores(at::Tensor tensor) const {
    if (!tensor.defined()) return tensor;
    while (tensor.dim() < 4) tensor = tensor.unsqueeze(0);
    const auto cut = [&](int64_t dim, int64_t start, int64_t length) {
      if (tensor.size(dim) > 1) tensor = tensor.narrow(dim, start, length);
    };
    cut(0, batch, 1);
    cut(1, head * groups, groups);
    cut(2, row, rows);
    cut(3, 0, keys);
    return tensor;
  }

  // Of a tensor with a row for each query, [B, N, S, _], and for each key, [B, N / groups, keys, _].
  at::Tensor of_rows(const at::Tensor& tensor) const {
    return tensor.narrow(0, batch, 1).narrow(1, head * groups, groups).narrow(2, row, rows);
  }
  at::Tensor of_keys(const at::Tensor& tensor) const {
    return tensor.narrow(0, batch, 1).narrow(1, head, 1).narrow(2, 0, keys);
  }
  at::Tensor of_heads(const at::Tensor& sink) const {
    return sink.defined() ? sink.reshape(-1).narrow(0, head * groups, groups) : sink;
  }

  Problem of(const Problem& whole) const {
    Problem part = whole;
    part.query = of_rows(whole.query);
    part.key = of_keys(whole.key);
    part.value = of_keys(whole.value);
    part.hidden = of_scores(whole.hidden);
    part.position = of_scores(whole.position);
    part.drop = of_scores(whole.drop);
    part.sink = of_heads(whole.sink);
    return part;
  }
};

bool is_short(const Problem& problem) {
  const int64_t rows = problem.query.size(0) * problem.query.size(1) * problem.query.size(2);
  const int64_t groups = problem.key.size(1) > 0 ? problem.query.size(1) / problem.key.size(1) : 0;
  return problem.query.size(2) < 2 * kRows || rows * problem.key.size(2) <= kWhole ||
         groups * problem.key.size(1) != problem.query.size(1);  // which the whole computation refuses
}

// How many keys from the first on the rows of a mask [queries, keys] see; one at least.
int64_t seen_keys(const at::Tensor& hidden, int64_t row, int64_t rows) {
  const at::Tensor blind = (hidden.size(0) > 1 ? hidden.narrow(0, row, rows) : hidden).all(0).contiguous();
  const bool* data = blind.const_data_ptr<bool>();
  int64_t seen = blind.numel();
  while (seen > 1 && data[seen - 1]) --seen;
  return seen;
}

template <class Compute>
void for_each_block(const Problem& problem, const Compute& compute) {
  const int64_t queries = problem.query.size(2), keys = problem.key.size(2), heads = problem.key.size(1);
  const at::Tensor& hidden = problem.hidden;
  const bool one_mask = hidden.defined() && hidden.dim() == 2 && hidden.size(1) == keys;
  std::vector<int64_t> seen;
  for (int64_t row = 0; row < queries; row += kRows) {
    seen.push_back(one_mask ? seen_keys(hidden, row, std::min(kRows, queries - row)) : keys);
  }
  for (int64_t batch = 0; batch < problem.query.size(0); ++batch) {
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t row = 0; row < queries; row += kRows) {
        compute(
            Block{batch, head, problem.query.size(1) / heads, row, std::min(kRows, queries - row), seen[row / kRows]});
      }
    }
  }
}

}  // namespace

Result forward_in_blocks(const Problem& problem) {
  if (is_short(problem)) return forward(problem);
  at::DimVector rows(problem.query.sizes());
  rows[3] = 1;
  const at::TensorOptions options = problem.query.options();
  Result result;
  result.highest = at::empty(rows, options);
  result.sum = at::empty(rows, options);
  result.blind = at::empty(rows, options.dtype(at::kBool));
  rows[3] = problem.value.size(3);
  result.out = at::empty(rows, options);
  for_each_block(problem, [&](const Block& block) {
    const Result part = forward(block.of(problem));
    block.of_rows(result.out).copy_(part.out);
    block.of_rows(result.highest).copy_(part.highest);
    block.of_rows(result.sum).copy_(part.sum);
    block.of_rows(result.blind).copy_(part.blind);
  });
  return result;
}

Gradients backward_in_blocks(const Problem& problem, const at::Tensor& grad, const at::Tensor& highest,
                             const at::Tensor& sum) {
  if (is_short(problem)) return backward(problem, grad, highest, sum);
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
  for_each_block(problem, [&](const Block& block) {
    const Gradients part = backward(block.of(problem), block.of_rows(grad), block.of_rows(highest), block.of_rows(sum));
    block.of_rows(result.query).copy_(part.query);
    block.of_keys(result.key).add_(part.key);
    block.of_keys(result.value).add_(part.value);
    if (part.position.defined()) block.of_scores(result.position).copy_(part.position);
    if (part.sink.defined()) block.of_heads(result.sink).add_(part.sink);
  });
  return result;
}

}  // namespace opwright::opapi::attention
