// native/sparse_attention/attention/rows.cpp
#include "sparse_attention/attention/rows.h"

#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>

#include "sparse_attention/threads.h"

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

// The tokens that a row selects and sees, in the order of its indices.
void select_tokens_of_row(const AttentionProblem& problem, const Row& row, std::vector<int32_t>& tokens) {
  const int64_t count = problem.indices.size(1);
  const int32_t* const indices = problem.indices.const_data_ptr<int32_t>() + row.position() * count;
  const int64_t seen = row.sequence->visible(row.index, problem.options.sparse_mode);
  select_tokens({indices, static_cast<size_t>(count)}, seen, problem.options.block_size, tokens);
}

// Scores of a row are kept for at most so many tokens; of more they are computed twice.
constexpr int64_t kMostKept = 4096;

// One thread's memory: the kernel's, decoded tokens, and where those of a tile lie.
class RowWorker {
 public:
  RowWorker(const AttentionKernel& kernel, const AttentionProblem& problem, int64_t heads)
      : kernel_(kernel),
        problem_(problem),
        kept_(std::min(kMostKept, problem.indices.size(1) * problem.options.block_size)),
        pointers_(4 * (kernel.tile + kTilePadding)) {
    const int64_t state = (kernel.scratch_bytes(heads, kept_) + kLine - 1) / kLine * kLine;
    const bool decodes = problem.sources.front().code.has_value();
    memory_ = c10::GetCPUAllocator()->allocate(state + (decodes ? kernel.tile * kLatent * kElementBytes : 0));
    decoded_ = static_cast<char*>(memory_.get()) + state;
    keys_ = pointers_.data();
    ropes_ = keys_ + kernel.tile + kTilePadding;
    values_ = ropes_ + kernel.tile + kTilePadding;
    next_values_ = values_ + kernel.tile + kTilePadding;
  }

  void attend(HeadRows heads, const Row& row, const HeadResults& results) {
    void* const state = memory_.get();
    const TokenSource& source = problem_.sources[row.sequence->index];
    select_tokens_of_row(problem_, row, tokens_);
    heads.room = kept_;
    heads.tokens = static_cast<int64_t>(tokens_.size());
    const bool is_kept = heads.tokens <= kept_;
    kernel_.begin(heads, state);
    for (int64_t first = 0; first < heads.tokens; first += kernel_.tile) {
      locate_keys(source, first);
      kernel_.score(heads, {keys_, ropes_, nullptr, first, count(first), nullptr, 0}, state);
    }
    const int64_t tiles = (heads.tokens + kernel_.tile - 1) / kernel_.tile;
    locate_values(source, (tiles - 1) * kernel_.tile, next_values_);
    for (int64_t first = (tiles - 1) * kernel_.tile; first >= 0; first -= kernel_.tile) {
      if (source.code || !is_kept) locate_keys(source, first);
      std::swap(values_, next_values_);
      const bool has_next = locate_values(source, first - kernel_.tile, next_values_);
      const char* const* const values = source.code ? keys_ : values_;
      kernel_.add(heads, {keys_, ropes_, values, first, count(first), next_values_, has_next ? kernel_.tile : 0},
                  state);
    }
    kernel_.finish(heads, state, results);
  }

 private:
  int64_t count(int64_t first) const { return std::min(kernel_.tile, static_cast<int64_t>(tokens_.size()) - first); }

  // Of a tile, and of the tokens after it, which a kernel may ask for.
  void locate_keys(const TokenSource& source, int64_t first) {
    const auto rest = static_cast<int64_t>(tokens_.size()) - first;
    const int64_t end = std::min(rest, kernel_.tile + (source.code ? 0 : kTilePadding));
    for (int64_t i = 0; i < end; ++i) {
      const int64_t token = tokens_[first + i];
      const char* const key = source.keys.at(token);
      keys_[i] = source.code ? decoded(i, key, *source.code) : key;
      if (source.code) ropes_[i] = key + kLatent;
      if (source.ropes) ropes_[i] = source.ropes->at(token);
    }
    for (int64_t i = end; i < kernel_.tile + kTilePadding; ++i) {
      keys_[i] = keys_[0];
      ropes_[i] = ropes_[0];
    }
  }

  const char* decoded(int64_t index, const char* key, Code code) {
    char* const latent = decoded_ + index * kLatent * kElementBytes;
    kernel_.dequantize(key, code, latent);
    return latent;
  }

  // False if there is no such tile, or values are decoded keys.
  bool locate_values(const TokenSource& source, int64_t first, const char** values) {
    if (source.code || first < 0) return false;
    for (int64_t i = 0; i < count(first); ++i) values[i] = source.values.at(tokens_[first + i]);
    return true;
  }

  const AttentionKernel& kernel_;
  const AttentionProblem& problem_;
  int64_t kept_;
  std::vector<const char*> pointers_;
  std::vector<int32_t> tokens_;
  at::DataPtr memory_;
  char* decoded_;
  const char **keys_, **ropes_, **values_, **next_values_;
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
          problem.sinks.defined() ? problem.sinks.const_data_ptr<float>() + first : nullptr,
          0,
          0};
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
  auto* const results = static_cast<char*>(out.data_ptr());
  auto* const highest = statistics.highest->data_ptr<float>();
  auto* const sum = statistics.sum->data_ptr<float>();
  on_threads(
      threads, items, [&] { return RowWorker(kernel, problem, part); },
      [&](int64_t item, RowWorker& worker) {
        const Row& row = rows[item / parts];
        const int64_t first = item % parts * part, at = row.position() * heads + first;
        const HeadRows some = head_rows(problem, row.position(), first, std::min(part, heads - first));
        worker.attend(some, row, {results + kElementBytes * at * kLatent, highest + at, sum + at});
      });
}

}  // namespace opwright::sparse
