// native/ascendc/functions/softmax.cpp
#include "advanced/softmax.h"

#include <cmath>

#include "functions/rows.h"
#include "instructions/functions.h"

namespace AscendC::machine::advanced {
namespace {

using vector::exponential;

float largest(const float* values, uint32_t count) {
  float result = -std::numeric_limits<float>::infinity();
  for (uint32_t i = 0; i < count; ++i) result = values[i] > result || std::isnan(values[i]) ? values[i] : result;
  return result;
}

// The statistics of one row: where they lie.
class Statistics {
 public:
  Statistics(const Softmax& softmax, uint32_t row) : one_each_(softmax.one_each), row_(row) {}
  float get(const Run& run) const { return read_one(run, size_t{row_} * width(run)); }
  void put(const Run& run, float value) const {
    if (run.data != nullptr) fill(run, size_t{row_} * width(run), width(run), value);
  }

 private:
  uint32_t width(const Run& run) const { return one_each_ ? 1 : block_of(run); }
  bool one_each_;
  uint32_t row_;
};

void exponentials(float* row, uint32_t count, float max) {
  for (uint32_t i = 0; i < count; ++i) row[i] = exponential(row[i] - max);
}
void divide(float* row, uint32_t count, float divisor) {
  for (uint32_t i = 0; i < count; ++i) row[i] /= divisor;
}

void one_row(const Softmax& work, const Statistics& statistics, float* row) {
  const uint32_t count = work.columns;
  if (work.kind == SoftmaxKind::kSimple) {
    exponentials(row, count, statistics.get(work.in_max));
    divide(row, count, statistics.get(work.in_sum));
    return;
  }
  const float own_max = largest(row, count);
  const float in_max = work.update ? statistics.get(work.in_max) : 0.0f;
  const float in_sum = work.update ? statistics.get(work.in_sum) : 0.0f;
  const float max = work.update ? std::fmax(in_max, own_max) : own_max;
  exponentials(row, count, max);
  float sum = sum_of(row, count);
  if (work.update) {
    const float factor = exponential(in_max - max);
    sum += factor * in_sum;
    statistics.put(work.exp_max, work.kind == SoftmaxKind::kFlash ? factor * in_sum / sum : factor);
  }
  statistics.put(work.reduce_max, own_max);
  statistics.put(work.max, max);
  statistics.put(work.sum, sum);
  if (work.kind != SoftmaxKind::kFlashV2) divide(row, count, sum);
  if (work.kind == SoftmaxKind::kLog) {
    for (uint32_t i = 0; i < count; ++i) row[i] = std::log10(row[i]);
  }
}

}  // namespace

void compute_softmax(const Softmax& work) {
  std::vector<float> row(work.columns);
  for (uint32_t i = 0; i < work.rows; ++i) {
    read_row(work.src, work.rows, i, work.columns, row.data());
    one_row(work, Statistics(work, i), row.data());
    write_row(work.dst, work.rows, i, work.columns, row.data());
  }
}

void compute_softmax_grad(const Rows& dst, const Rows& grad, const Rows& src, uint32_t rows, uint32_t columns,
                          bool front) {
  std::vector<float> gradient(columns);
  std::vector<float> result(columns);
  std::vector<float> products(columns);
  for (uint32_t i = 0; i < rows; ++i) {
    read_row(grad, rows, i, columns, gradient.data());
    read_row(src, rows, i, columns, result.data());
    for (uint32_t c = 0; c < columns; ++c) products[c] = gradient[c] * result[c];
    const float sum = sum_of(products.data(), columns);
    if (front) {
      fill(dst.run, size_t{i} * dst.stride, dst.stride, sum);
      continue;
    }
    for (uint32_t c = 0; c < columns; ++c) products[c] = (gradient[c] - sum) * result[c];
    write_row(dst, rows, i, columns, products.data());
  }
}

bool adjust_softmax(const Rows& result, Run max, uint32_t max_stride, uint32_t rows, uint32_t columns, uint32_t from,
                    float value) {
  const std::vector<float> row(columns, value);
  bool found = false;
  for (uint32_t i = 0; i < rows; ++i) {
    const size_t index = size_t{i} * max_stride;
    uint32_t bits = 0;
    if (max.number == Number::kFloat) {
      std::memcpy(&bits, static_cast<const float*>(max.data) + index, sizeof(float));
    } else {
      std::memcpy(&bits, static_cast<const half*>(max.data) + index, sizeof(half));
    }
    if (bits != from) continue;
    found = true;
    write_row(result, rows, i, columns, row.data());
  }
  return found;
}

}  // namespace AscendC::machine::advanced
