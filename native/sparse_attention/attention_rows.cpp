// native/sparse_attention/attention_rows.cpp
#include "sparse_attention/attention_rows.h"

#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>

namespace opwright::sparse {

namespace {

constexpr int64_t kElementBytes = 2;
constexpr int64_t kLine = 64;

struct Row {
  const Sequence* sequence;
  int64_t index;  // in the sequence
  int64_t position() const { return sequence->first_query + index; }
};

std::vector<Row> rows_of(const Batch& batch) {
  std::vector<Row> rows;
  for (const Sequence& sequence : batch.sequences) {
    for (int64_t i = 0; i < sequence.queries; ++i) rows.push_back({&sequence, i});
  }
  return rows;
}

// Heads of one row that a thread takes at once. Tokens are gathered for each part again, so parts are as large as an
// even division among threads allows.
int64_t heads_of_part(int64_t rows, int64_t heads, int64_t threads) {
  constexpr double kGathering = 0.1;  // of the time of a whole row
  int64_t best = heads;
  double least = 0;
  for (int64_t parts = 1; parts <= 8; parts *= 2) {
    const int64_t size = ((heads + parts - 1) / parts + kHeadStep - 1) / kHeadStep * kHeadStep;
    const int64_t count = (heads + size - 1) / size;
    const int64_t rounds = (rows * count + threads - 1) / threads;
    const double time = static_cast<double>(rounds) * (kGathering + 1.0 / static_cast<double>(count));
    if (parts == 1 || time < least) {
      least = time;
      best = size;
    }
  }
  return std::min(best, heads);
}

// Calls take(token) for the tokens that a row selects and sees, in the order of its indices.
template <class Take>
void each_token(const AttentionProblem& problem, const Row& row, const Take& take) {
  const int64_t block = problem.options.block_size;
  const int64_t seen = row.sequence->visible(row.index, problem.options.sparse_mode);
  if (seen <= 0) return;
  const int64_t count = std::min(problem.indices.size(1), (seen + block - 1) / block);
  const int32_t* const named = problem.indices.const_data_ptr<int32_t>() + row.position() * problem.indices.size(1);
  for (int64_t i = 0; i < count && named[i] >= 0; ++i) {
    const int64_t first = named[i] * block, end = std::min(first + block, seen);
    for (int64_t token = first; token < end; ++token) take(token);
  }
}

// A thread's room: the kernel's, decoded tokens, and where those of a tile lie.
class Room {
 public:
  Room(const AttentionKernel& kernel, int64_t heads, bool decodes)
      : kernel_(kernel), pointers_(3 * (kernel.tile + kTilePadding)) {
    const int64_t state = (kernel.scratch_bytes(heads) + kLine - 1) / kLine * kLine;
    const int64_t decoded = decodes ? kernel.tile * kLatent * kElementBytes : 0;
    memory_ = c10::GetCPUAllocator()->allocate(state + decoded);
    decoded_ = static_cast<char*>(memory_.get()) + state;
    keys_ = pointers_.data();
    ropes_ = keys_ + kernel.tile + kTilePadding;
    values_ = ropes_ + kernel.tile + kTilePadding;
  }

  void* state() { return memory_.get(); }

  void attend(const HeadRows& heads, const AttentionProblem& problem, const Row& row, const HeadResults& results) {
    const TokenSource& source = problem.sources[row.sequence->index];
    kernel_.begin(heads, state());
    count_ = 0;
    each_token(problem, row, [&](int64_t token) {
      append(source, token);
      if (count_ == kernel_.tile) flush(heads);
    });
    if (count_ > 0) flush(heads);
    kernel_.finish(heads, state(), results);
  }

 private:
  void append(const TokenSource& source, int64_t token) {
    const char* const key = source.keys.at(token);
    if (source.code) {
      char* const latent = decoded_ + count_ * kLatent * kElementBytes;
      kernel_.dequantize(key, *source.code, latent);
      keys_[count_] = values_[count_] = latent;
      ropes_[count_] = key + kLatent;
    } else {
      keys_[count_] = key;
      values_[count_] = source.values.at(token);
      ropes_[count_] = source.ropes ? source.ropes->at(token) : nullptr;
    }
    ++count_;
  }

  void flush(const HeadRows& heads) {
    for (int64_t i = count_; i < count_ + kTilePadding; ++i) {
      keys_[i] = keys_[0];
      ropes_[i] = ropes_[0];
    }
    kernel_.add(heads, {keys_, ropes_, values_, count_}, state());
    count_ = 0;
  }

  const AttentionKernel& kernel_;
  std::vector<const char*> pointers_;
  at::DataPtr memory_;
  char* decoded_;
  const char **keys_, **ropes_, **values_;
  int64_t count_ = 0;
};

// Some heads of a row.
HeadRows head_rows(const AttentionProblem& problem, int64_t position, int64_t first, int64_t count) {
  const auto part = [&](const at::Tensor& tensor) {
    const auto* const base = static_cast<const char*>(tensor.const_data_ptr());
    return base + kElementBytes * (position * tensor.stride(0) + first * tensor.stride(1));
  };
  const bool has_rope = problem.query_rope.defined();
  return {part(problem.query),
          kElementBytes * problem.query.stride(1),
          has_rope ? part(problem.query_rope) : nullptr,
          has_rope ? kElementBytes * problem.query_rope.stride(1) : 0,
          count,
          static_cast<float>(problem.options.scale),
          problem.sinks.defined() ? problem.sinks.const_data_ptr<float>() + first : nullptr};
}

}  // namespace

void attend_rows(const AttentionProblem& problem, at::Tensor& out, const Statistics& statistics) {
  out.zero_();
  statistics.highest->zero_();
  statistics.sum->zero_();
  const std::vector<Row> rows = rows_of(problem.batch);
  if (rows.empty()) return;
  const bool is_half = problem.query.scalar_type() == at::kHalf;
  const AttentionKernel& kernel = attention_kernel(is_half ? Element::kHalf : Element::kBfloat16);
  const int64_t heads = out.size(1), threads = at::get_num_threads();
  const int64_t part = heads_of_part(static_cast<int64_t>(rows.size()), heads, threads);
  const int64_t parts = (heads + part - 1) / part;
  const int64_t items = static_cast<int64_t>(rows.size()) * parts;
  const bool decodes = problem.sources.front().code.has_value();
  auto* const results = static_cast<char*>(out.data_ptr());
  auto* const highest = statistics.highest->data_ptr<float>();
  auto* const sum = statistics.sum->data_ptr<float>();
  std::atomic<int64_t> next{0};
  // Rows differ in length: threads take the next item when they are done with one.
  at::parallel_for(0, std::min(threads, items), 1, [&](int64_t, int64_t) {
    Room room(kernel, part, decodes);
    for (int64_t item = next++; item < items; item = next++) {
      const Row& row = rows[item / parts];
      const int64_t first = item % parts * part, at = row.position() * heads + first;
      const HeadRows some = head_rows(problem, row.position(), first, std::min(part, heads - first));
      room.attend(some, problem, row, {results + kElementBytes * at * kLatent, highest + at, sum + at});
    }
  });
}

}  // namespace opwright::sparse
