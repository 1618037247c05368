// native/ascendc/functions/normalization.cpp
#include "advanced/normalization.h"

#include <cmath>

#include "advanced/welford.h"
#include "functions/rows.h"

namespace AscendC::machine::advanced {
namespace {

struct Moments {
  double mean;
  double variance;
};

Moments moments_of(const float* values, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
  const double mean = sum / count;
  double squares = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(values[i]) - mean;
    squares += distance * distance;
  }
  return {mean, squares / count};
}

// A vector of factors as floats; `absent` where it is not given.
std::vector<float> factors(const Run& run, uint32_t count, float absent) {
  std::vector<float> result(count, absent);
  if (run.data != nullptr) read_row({run, count, false}, 1, 0, count, result.data());
  return result;
}

void put_one(const Run& run, size_t index, double value) {
  const auto rounded = static_cast<float>(value);
  if (run.data != nullptr) put_floats(run, index, 1, &rounded);
}

}  // namespace

void compute_layer_norm(const Norm& norm) {
  const std::vector<float> gamma = factors(norm.gamma, norm.columns, 1.0f);
  const std::vector<float> beta = factors(norm.beta, norm.columns, 0.0f);
  std::vector<float> row(norm.columns);
  std::vector<float> residual(norm.columns);
  const Rows src{norm.src, norm.stride, false};
  const Rows dst{norm.dst, norm.stride, false};
  for (uint32_t i = 0; i < norm.rows; ++i) {
    read_row(src, norm.rows, i, norm.columns, row.data());
    if (norm.residual.data != nullptr) {
      read_row({norm.residual, norm.stride, false}, norm.rows, i, norm.columns, residual.data());
      for (uint32_t c = 0; c < norm.columns; ++c) row[c] = norm.alpha * row[c] + residual[c];
    }
    const Moments moments = norm.given ? Moments{static_cast<double>(read_one(norm.mean, i)),
                                                 static_cast<double>(read_one(norm.variance, i))}
                                       : moments_of(row.data(), norm.columns);
    const double reciprocal = 1.0 / std::sqrt(moments.variance + static_cast<double>(norm.epsilon));
    const auto mean = static_cast<float>(moments.mean);
    const auto factor = static_cast<float>(reciprocal);
    for (uint32_t c = 0; c < norm.columns; ++c) row[c] = (row[c] - mean) * factor * gamma[c] + beta[c];
    write_row(dst, norm.rows, i, norm.columns, row.data());
    put_one(norm.reciprocal_out, i, reciprocal);
    if (norm.given) continue;
    put_one(norm.mean, i, moments.mean);
    put_one(norm.variance, i, norm.reciprocal ? reciprocal : moments.variance);
  }
}

void compute_rms_norm(const Norm& norm) {
  const std::vector<float> gamma = factors(norm.gamma, norm.columns, 1.0f);
  std::vector<float> row(norm.columns);
  for (uint32_t i = 0; i < norm.rows; ++i) {
    read_row({norm.src, norm.stride, false}, norm.rows, i, norm.columns, row.data());
    double squares = 0;
    for (const float value : row) squares += static_cast<double>(value) * static_cast<double>(value);
    const auto factor = static_cast<float>(1.0 / std::sqrt(squares / norm.columns + static_cast<double>(norm.epsilon)));
    for (uint32_t c = 0; c < norm.columns; ++c) row[c] = row[c] * factor * gamma[c];
    write_row({norm.dst, norm.stride, false}, norm.rows, i, norm.columns, row.data());
  }
}

void compute_batch_norm(const Norm& norm) {
  const std::vector<float> gamma = factors(norm.gamma, norm.rows, 1.0f);
  const std::vector<float> beta = factors(norm.beta, norm.rows, 0.0f);
  const size_t width = norm.columns;
  std::vector<float> all(norm.rows * width);
  for (uint32_t i = 0; i < norm.rows; ++i) {
    read_row({norm.src, norm.stride, false}, norm.rows, i, norm.columns, all.data() + i * width);
  }
  std::vector<float> column(norm.rows);
  for (uint32_t c = 0; c < norm.columns; ++c) {
    for (uint32_t i = 0; i < norm.rows; ++i) column[i] = all[i * width + c];
    const Moments moments = moments_of(column.data(), norm.rows);
    const auto factor = static_cast<float>(1.0 / std::sqrt(moments.variance + static_cast<double>(norm.epsilon)));
    for (uint32_t i = 0; i < norm.rows; ++i) {
      all[i * width + c] = (column[i] - static_cast<float>(moments.mean)) * factor * gamma[i] + beta[i];
    }
    put_one(norm.mean, c, moments.mean);
    put_one(norm.variance, c, moments.variance);
  }
  for (uint32_t i = 0; i < norm.rows; ++i) {
    write_row({norm.dst, norm.stride, false}, norm.rows, i, norm.columns, all.data() + i * width);
  }
}

void compute_group_norm(const Norm& norm, uint32_t groups, uint32_t channels, uint32_t pixels, uint32_t pixel_stride) {
  const std::vector<float> gamma = factors(norm.gamma, groups * channels, 1.0f);
  const std::vector<float> beta = factors(norm.beta, groups * channels, 0.0f);
  std::vector<float> group(size_t{channels} * pixels);
  const uint32_t all_rows = norm.rows * groups * channels;
  for (uint32_t index = 0; index < norm.rows * groups; ++index) {
    for (uint32_t c = 0; c < channels; ++c) {
      read_row({norm.src, pixel_stride, false}, all_rows, index * channels + c, pixels,
               group.data() + size_t{c} * pixels);
    }
    const Moments moments = moments_of(group.data(), channels * pixels);
    const auto factor = static_cast<float>(1.0 / std::sqrt(moments.variance + static_cast<double>(norm.epsilon)));
    for (uint32_t c = 0; c < channels; ++c) {
      const uint32_t channel = index % groups * channels + c;
      float* row = group.data() + size_t{c} * pixels;
      for (uint32_t p = 0; p < pixels; ++p) {
        row[p] = (row[p] - static_cast<float>(moments.mean)) * factor * gamma[channel] + beta[channel];
      }
      write_row({norm.dst, pixel_stride, false}, all_rows, index * channels + c, pixels, row);
    }
    put_one(norm.mean, index, moments.mean);
    put_one(norm.variance, index, moments.variance);
  }
}

void compute_layer_norm_grad(const LayerNormBackward& work) {
  const uint32_t count = work.columns;
  const std::vector<float> gamma = factors(work.gamma, count, 1.0f);
  std::vector<float> dy(count);
  std::vector<float> x(count);
  std::vector<float> for_gamma(count);
  for (uint32_t i = 0; i < work.rows; ++i) {
    read_row({work.dy, work.stride, false}, work.rows, i, count, dy.data());
    read_row({work.x, work.stride, false}, work.rows, i, count, x.data());
    const auto mean = static_cast<double>(read_one(work.mean, i));
    const double base = static_cast<double>(read_one(work.variance, i)) + static_cast<double>(work.epsilon);
    const double reciprocal = 1.0 / std::sqrt(base);
    double d_variance = 0;
    double d_mean = 0;
    double distances = 0;
    for (uint32_t c = 0; c < count; ++c) {
      const double d_normal = static_cast<double>(dy[c]) * static_cast<double>(gamma[c]);
      const double distance = static_cast<double>(x[c]) - mean;
      d_variance += -0.5 * d_normal * distance * reciprocal / base;
      d_mean -= d_normal * reciprocal;
      distances += distance;
    }
    d_mean += d_variance * -2.0 * distances / count;
    for (uint32_t c = 0; c < count; ++c) {
      const double d_normal = static_cast<double>(dy[c]) * static_cast<double>(gamma[c]);
      const double distance = static_cast<double>(x[c]) - mean;
      for_gamma[c] = static_cast<float>(distance * reciprocal);
      x[c] = static_cast<float>(d_normal * reciprocal + d_variance * 2.0 * distance / count + d_mean / count);
    }
    write_row({work.dx, work.stride, false}, work.rows, i, count, x.data());
    write_row({work.for_gamma, work.stride, false}, work.rows, i, count, for_gamma.data());
  }
}

void compute_layer_norm_grad_beta(uint32_t rows, uint32_t columns, uint32_t stride, Run d_gamma, Run d_beta,
                                  Run for_gamma, Run dy) {
  std::vector<double> gamma(columns);
  std::vector<double> beta(columns);
  std::vector<float> factor(columns);
  std::vector<float> gradient(columns);
  for (uint32_t i = 0; i < rows; ++i) {
    read_row({for_gamma, stride, false}, rows, i, columns, factor.data());
    read_row({dy, stride, false}, rows, i, columns, gradient.data());
    for (uint32_t c = 0; c < columns; ++c) {
      gamma[c] += static_cast<double>(factor[c]) * static_cast<double>(gradient[c]);
      beta[c] += static_cast<double>(gradient[c]);
    }
  }
  for (uint32_t c = 0; c < columns; ++c) {
    put_one(d_gamma, c, gamma[c]);
    put_one(d_beta, c, beta[c]);
  }
}

void welford_update(const WelfordUpdateParam& para, bool in_place, Run mean_out, Run variance_out, Run mean,
                    Run variance, Run x) {
  auto* means = static_cast<float*>(mean_out.data);
  auto* variances = static_cast<float*>(variance_out.data);
  const auto* old_means = static_cast<const float*>(mean.data);
  const auto* old_variances = static_cast<const float*>(variance.data);
  for (uint32_t i = 0; i < para.abComputeLength; ++i) {
    const float value = read_one(x, i);
    const float distance = value - old_means[i];
    const float updated = old_means[i] + distance * para.nRec;
    variances[i] = old_variances[i] + distance * (value - updated);
    means[i] = updated;
  }
  if (!in_place) return;
  for (uint32_t i = para.abComputeLength; i < para.abLength; ++i) {
    means[i] = old_means[i];
    variances[i] = old_variances[i];
  }
}

void welford_finalize(const WelfordFinalizePara& para, bool correct, Run mean_out, Run variance_out, Run mean,
                      Run variance, const int32_t* counts) {
  const auto* means = static_cast<const float*>(mean.data);
  const auto* variances = static_cast<const float*>(variance.data);
  const bool tail = counts != nullptr || para.tailCountLength != 0;
  const auto count_of = [&](uint32_t i) -> double {
    if (counts != nullptr) return counts[i];
    if (!tail) return para.rnLength;
    return i < para.headCountLength ? para.headCount : para.tailCount;
  };
  double sum = 0;
  for (uint32_t i = 0; i < para.abLength; ++i) {
    sum += static_cast<double>(means[i]) *
           (tail ? count_of(i) * static_cast<double>(para.rRec) : static_cast<double>(para.abRec));
  }
  double squares = 0;
  for (uint32_t i = 0; i < para.abLength; ++i) {
    const double distance = static_cast<double>(means[i]) - sum;
    squares += static_cast<double>(variances[i]) + count_of(i) * distance * distance;
  }
  put_one(mean_out, 0, sum);
  put_one(variance_out, 0, squares * static_cast<double>(correct ? para.rRecWithCorrection : para.rRec));
}

}  // namespace AscendC::machine::advanced
