// native/sparse_attention/indexer/scan.cpp
#include "sparse_attention/indexer/scan.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <atomic>
#include <limits>
#include <memory>

#include "sparse_attention/indexer/query.h"
#include "sparse_attention/indexer/select_top.h"
#include "sparse_attention/threads.h"

namespace opwright::sparse {

namespace {

constexpr int64_t kRows = 4;                  // queries that share the keys which are in the cache
constexpr int64_t kLeastRange = 2048;         // keys that are worth a task of their own
constexpr int64_t kThreadProducts = 1 << 17;  // products of a head and a key that are worth a thread: about 0.1 ms
constexpr int64_t kThreadTasks = 4;

// Queries of one sequence that are next to each other.
struct Unit {
  const Sequence* sequence;
  int64_t row;  // of the sequence
  int64_t rows;
  int64_t visible;  // to the last of them, and at least to the others
  int64_t ranges = 1;
  int64_t first_task = 0;
};

// A range of the keys of a unit.
struct Task {
  const Unit* unit;
  int64_t first, last;
};

int64_t visible_to(const IndexerScan& scan, const Sequence& sequence, int64_t row) {
  return std::clamp<int64_t>(sequence.visible(row, scan.sparse_mode), 0, sequence.keys);
}

std::vector<Unit> units_of(const IndexerScan& scan) {
  std::vector<Unit> units;
  for (const Sequence& sequence : scan.batch.sequences) {
    for (int64_t row = 0; row < sequence.queries; row += kRows) {
      const int64_t rows = std::min(kRows, sequence.queries - row);
      const int64_t visible = visible_to(scan, sequence, row + rows - 1);
      if (visible > 0) units.push_back({&sequence, row, rows, visible});
    }
  }
  return units;
}

int64_t threads_for(const IndexerScan& scan, const std::vector<Unit>& units) {
  if (at::in_parallel_region()) return 1;
  int64_t products = 0;
  for (const Unit& unit : units) products += unit.rows * unit.visible * scan.query.size(-2);
  return std::clamp<int64_t>(products / kThreadProducts, 1, at::get_num_threads());
}

// Long rows are divided where there are too few for all threads, and so that one that comes late delays little.
std::vector<Task> tasks_of(std::vector<Unit>& units, int64_t threads) {
  const auto count = static_cast<int64_t>(units.size());
  const int64_t wanted = threads == 1 ? 1 : kThreadTasks * threads;
  std::vector<Task> tasks;
  for (Unit& unit : units) {
    const int64_t worth = (unit.visible + kLeastRange - 1) / kLeastRange;
    unit.ranges = std::min(worth, (wanted + count - 1) / count);
    unit.first_task = static_cast<int64_t>(tasks.size());
    const int64_t blocks = (unit.visible + kKeyBlock - 1) / kKeyBlock;
    for (int64_t i = 0; i < unit.ranges; ++i) {
      const int64_t last = std::min(unit.visible, blocks * (i + 1) / unit.ranges * kKeyBlock);
      tasks.push_back({&unit, blocks * i / unit.ranges * kKeyBlock, last});
    }
  }
  return tasks;
}

class Writer {
 public:
  Writer(const IndexerScan& scan, const IndexerResults& results) : count_(scan.count), results_(results) {}

  // Takes the best, best first.
  void write(int64_t row, const std::vector<Ranked>& entries) const {
    int32_t* const indices = results_.indices.mutable_data_ptr<int32_t>() + row * count_;
    for (size_t i = 0; i < entries.size(); ++i) indices[i] = static_cast<int32_t>(token_of(entries[i]));
    if (results_.values == nullptr) return;
    if (results_.values->scalar_type() == at::kHalf)
      write_values<at::Half>(row, entries);
    else
      write_values<at::BFloat16>(row, entries);
  }

 private:
  template <class T>
  void write_values(int64_t row, const std::vector<Ranked>& entries) const {
    T* const values = results_.values->mutable_data_ptr<T>() + row * count_;
    for (size_t i = 0; i < entries.size(); ++i) values[i] = static_cast<T>(score_of(entries[i]));
  }

  int64_t count_;
  IndexerResults results_;
};

// One thread's memory.
class ScanWorker {
 public:
  explicit ScanWorker(const IndexerScan& scan)
      : scan_(scan), kernel_(score_kernel(scan.type)), queries_(kernel_, scan, kRows) {
    for (int64_t i = 0; i < kRows; ++i) selections_.emplace_back(scan.count, kKeyBlock);
    if (!kernel_.reads_in_place) converted_ = at::empty({kKeyBlock, 4 * kHeadSize / kernel_.pack}, at::kByte);
  }

  void run(const Task& task, std::atomic<Ranked>* bars) {
    const Unit& unit = *task.unit;
    const Sequence& sequence = *unit.sequence;
    if (unit_ != &unit) queries_.load(sequence.first_query + unit.row, unit.rows);
    unit_ = &unit;
    for (int64_t row = 0; row < unit.rows; ++row) selections_[row].begin(bars + row);
    const Rows keys(scan_.key, scan_.batch.key_layout, sequence);
    for (int64_t first = task.first; first < task.last; first += kKeyBlock) {
      const int64_t count = std::min(kKeyBlock, task.last - first);
      load_keys(keys, first, count);
      if (scan_.key_scale != nullptr) load_scales(sequence, first, count);
      for (int64_t row = 0; row < unit.rows; ++row) {
        const int64_t seen = std::min(count, visible_to(scan_, sequence, unit.row + row) - first);
        if (seen > 0) score(row, first, seen);
      }
    }
  }

  // The candidates that the last task has left of a row.
  std::vector<Ranked> best(int64_t row) {
    TopSelection& selection = selections_[row];
    selection.reduce();
    return {selection.entries(), selection.entries() + selection.size()};
  }

 private:
  void load_keys(const Rows& keys, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count;) {
      const int64_t run = keys.run(first + i, count - i);
      const char* key = keys.at(first + i);
      for (const int64_t end = i + run; i < end; ++i, key += keys.token_bytes()) pointers_[i] = key;
    }
    if (!kernel_.reads_in_place) {
      char* const out = static_cast<char*>(converted_.mutable_data_ptr());
      kernel_.convert(pointers_, count, out);
      for (int64_t i = 0; i < count; ++i) pointers_[i] = out + i * converted_.size(1);
    }
    std::fill_n(pointers_ + count, kKeyPadding, pointers_[count - 1]);
  }

  void load_scales(const Sequence& sequence, int64_t first, int64_t count) {
    const at::Tensor& tensor = scan_.key_scale->tensor;
    const Rows scales(tensor, scan_.batch.key_layout, sequence);
    const bool half = tensor.scalar_type() == at::kHalf;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t token = first + i;
      scales_[i] = half ? static_cast<float>(*scales.at<at::Half>(token)) : *scales.at<float>(token);
    }
  }

  void score(int64_t row, int64_t first, int64_t count) {
    kernel_.scores(queries_.row(row), pointers_, count, scores_);
    if (scan_.key_scale != nullptr) {
      for (int64_t i = 0; i < count; ++i) scores_[i] *= scales_[i];
      if (scan_.key_scale->round_scores) {
        for (int64_t i = 0; i < count; ++i) scores_[i] = static_cast<float>(at::BFloat16(scores_[i]));
      }
    }
    selections_[row].take(scores_, count, first);
  }

  const IndexerScan& scan_;
  const ScoreKernel& kernel_;
  QueryRows queries_;
  const Unit* unit_ = nullptr;  // whose queries are loaded
  std::vector<TopSelection> selections_;
  at::Tensor converted_;
  const char* pointers_[kKeyBlock + kKeyPadding];
  float scales_[kKeyBlock];
  alignas(64) float scores_[kKeyBlock + kKeyPadding];
};

}  // namespace

void scan(const IndexerScan& scan, const IndexerResults& results) {
  results.indices.fill_(-1);
  if (results.values != nullptr) results.values->fill_(-std::numeric_limits<double>::infinity());
  std::vector<Unit> units = units_of(scan);
  const int64_t threads = threads_for(scan, units);
  const std::vector<Task> tasks = tasks_of(units, threads);
  const Writer writer(scan, results);
  const auto unit_count = static_cast<int64_t>(units.size());
  const auto bars = std::make_unique<std::atomic<Ranked>[]>(unit_count * kRows);
  std::vector<std::vector<Ranked>> parts(tasks.size() == units.size() ? 0 : tasks.size() * kRows);
  on_threads(
      threads, static_cast<int64_t>(tasks.size()), [&] { return ScanWorker(scan); },
      [&](int64_t index, ScanWorker& worker) {
        const Task& task = tasks[index];
        const Unit& unit = *task.unit;
        worker.run(task, bars.get() + (&unit - units.data()) * kRows);
        for (int64_t row = 0; row < unit.rows; ++row) {
          std::vector<Ranked> best = worker.best(row);
          if (unit.ranges > 1) {
            parts[index * kRows + row] = std::move(best);
          } else {
            keep_best(best, scan.count);
            writer.write(unit.sequence->first_query + unit.row + row, best);
          }
        }
      });
  if (parts.empty()) return;
  on_threads(
      threads, unit_count * kRows, [] { return std::vector<Ranked>(); },
      [&](int64_t index, std::vector<Ranked>& best) {
        const Unit& unit = units[index / kRows];
        const int64_t row = index % kRows;
        if (unit.ranges == 1 || row >= unit.rows) return;
        best.clear();
        for (int64_t i = 0; i < unit.ranges; ++i) {
          const std::vector<Ranked>& part = parts[(unit.first_task + i) * kRows + row];
          best.insert(best.end(), part.begin(), part.end());
        }
        keep_best(best, scan.count);
        writer.write(unit.sequence->first_query + unit.row + row, best);
      });
}

}  // namespace opwright::sparse
