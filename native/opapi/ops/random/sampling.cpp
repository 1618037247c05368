// native/opapi/ops/random/sampling.cpp
// The next token of each sequence: filtering and sampling of logits, and the step from one token to the next.
#include <algorithm>
#include <cmath>

#include "opapi/opapi.h"

namespace {

void check_rows(const at::Tensor& tensor, const at::Tensor& logits, const char* name) {
  require(tensor.dim() == 1 && tensor.size(0) == logits.size(0), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has shape ", tensor.sizes(), "; it must have a value for each row of logits, ", logits.sizes());
}

// ---- filters

// Logits that are not among the k highest, or not in the upper share p of the probability, become -inf.
void apply_top_k_top_p(const at::Tensor& logits, const OptionalTensor& p, const OptionalTensor& k, at::Tensor& out) {
  require(logits.dim() == 2, ACLNN_ERR_PARAM_INVALID, "parameter 'logits' has shape ", logits.sizes(),
          "; it must have 2 dimensions");
  auto [sorted, order] = logits.sort(/*stable=*/true, /*dim=*/1, /*descending=*/false);
  if (k) {
    check_rows(*k, logits, "k");
    const at::Tensor first = at::rsub(*k, logits.size(1)).unsqueeze(1);
    require(k->ge(1).logical_and_(k->le(logits.size(1))).all().item<bool>(), ACLNN_ERR_PARAM_INVALID,
            "parameter 'k' has a value that is not between 1 and ", logits.size(1), ", the number of logits");
    sorted.masked_fill_(sorted.lt(sorted.gather(1, first)), -kInfinity);
  }
  if (p) {
    check_rows(*p, logits, "p");
    const at::Tensor below = sorted.softmax(1, at::kFloat).cumsum(1);
    at::Tensor dropped = below.le(at::rsub(p->to(at::kFloat), 1).unsqueeze(1));
    dropped.select(1, -1).zero_();  // one token remains
    sorted.masked_fill_(dropped, -kInfinity);
  }
  assign(out, at::empty_like(sorted).scatter_(1, order, sorted));
}

// ---- sampling

struct SampleOptions {
  double eps;
  bool needs_logits;
  int64_t most_k;   // a larger k does not filter
  bool are_logits;  // or probabilities
  bool needs_candidates;
};

struct SampleOperands {
  const at::Tensor &logits, &k, &p;
  const OptionalTensor &q, &min_p;
};

struct SampleOutputs {
  at::Tensor &index, &logits, &candidate_index, &candidates;
};

// The remains of one row: probabilities and where they come from.
struct Candidates {
  at::Tensor values, index;
};

Candidates filtered(const at::Tensor& row, int64_t k, double p, double min_p, const SampleOptions& options) {
  const bool by_k = 1 <= k && k <= std::min(options.most_k, row.size(0)), by_p = p < 1;
  const auto probabilities = [&](const at::Tensor& values) { return options.are_logits ? values.softmax(0) : values; };
  if (!by_k && !by_p && min_p <= 0) return {probabilities(row), at::arange(row.size(0))};
  Candidates left;
  if (!by_k && !by_p && min_p < 1) {
    left = {probabilities(row), at::arange(row.size(0))};
  } else {
    const auto [sorted, order] = row.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
    const int64_t count = by_k ? k : row.size(0);
    left = {probabilities(sorted.narrow(0, 0, count)), order.narrow(0, 0, count)};
  }
  const auto keep = [&](int64_t count) { left = {left.values.narrow(0, 0, count), left.index.narrow(0, 0, count)}; };
  if (by_p && p > 0) {
    const at::Tensor before = left.values.cumsum(0).sub_(left.values);
    const auto count = before.lt(p).sum().item<int64_t>();
    keep(std::max<int64_t>(count, 1));
  } else if (by_p) {
    keep(1);
    if (options.are_logits) left.values = at::ones({1});
  }
  if (min_p >= 1) {
    keep(1);
  } else if (min_p > 0) {
    const at::Tensor kept = left.values.ge(left.values.max().mul(min_p)).nonzero().squeeze(1);
    left = {left.values.index_select(0, kept), left.index.index_select(0, kept)};
  }
  return left;
}

void sample(const SampleOperands& operands, const SampleOptions& options, const SampleOutputs& outputs) {
  require(operands.logits.dim() == 2, ACLNN_ERR_PARAM_INVALID, "parameter 'logits' has shape ", operands.logits.sizes(),
          "; it must have 2 dimensions");
  check_rows(operands.k, operands.logits, "topK");
  check_rows(operands.p, operands.logits, "topP");
  require(!options.needs_candidates || !operands.q, ACLNN_ERR_PARAM_INVALID,
          "parameter 'q' is given; it must be None if the candidates are wanted (post_sample multiNomial)");
  require(!operands.q || operands.q->sizes() == operands.logits.sizes(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'q' has shape ", operands.q ? operands.q->sizes() : at::IntArrayRef(), "; it must be that of ",
          "logits, ", operands.logits.sizes());
  const at::Tensor logits = operands.logits.to(at::kFloat);
  outputs.index.zero_();
  outputs.logits.fill_(options.are_logits ? -kInfinity : 0);
  if (outputs.candidates.defined()) outputs.candidates.zero_();
  if (outputs.candidate_index.defined()) outputs.candidate_index.zero_();
  at::Tensor chosen = outputs.index.view(-1);
  const at::Tensor min_p = operands.min_p ? operands.min_p->reshape(-1) : at::Tensor();
  for (int64_t i = 0; i < logits.size(0); ++i) {
    const at::Tensor row = logits.select(0, i);
    const Candidates left =
        filtered(row, operands.k.select(0, i).item<int64_t>(), operands.p.select(0, i).item<double>(),
                 min_p.defined() ? min_p.select(0, i).item<double>() : -1, options);
    const int64_t count = left.values.size(0);
    if (options.needs_logits) outputs.logits.select(0, i).index_copy_(0, left.index, row.index_select(0, left.index));
    if (options.needs_candidates) {
      outputs.candidates.select(0, i).narrow(0, 0, count).copy_(left.values);
      outputs.candidate_index.select(0, i).narrow(0, 0, count).copy_(left.index);
      continue;
    }
    at::Tensor scores = left.values;
    if (operands.q) scores = scores.div(operands.q->select(0, i).narrow(0, 0, count).abs().add_(options.eps));
    chosen.select(0, i).copy_(left.index.select(0, scores.argmax().item<int64_t>()));
  }
}

// In blocks of 8 on the device.
int64_t most_k(int64_t given) {
  require(1 <= given && given <= 1024, ACLNN_ERR_PARAM_INVALID, "parameter 'ksMax' is ", given,
          "; it must be from 1 to 1024");
  return (given + 7) / 8 * 8;
}

// ---- the step to the next token

constexpr int64_t kCores = 40;

struct Step {
  at::Tensor tokens, positions, lengths, slots;
  const at::Tensor& tables;
  int64_t sequences, queries, block_size;
};

// Callers also pass one number for each sequence as a matrix of one column.
at::Tensor column(const at::Tensor& values) {
  return values.dim() == 2 && values.size(1) == 1 ? values.squeeze(1) : values;
}

void check(const Step& step, int64_t per_sequence) {
  require(step.block_size > 0 && step.sequences > 0 && step.queries > 0 && step.queries <= step.sequences,
          ACLNN_ERR_PARAM_INVALID, "numSeqs, numQueries and blockSize are ", step.sequences, ", ", step.queries,
          " and ", step.block_size, "; they must be positive, numQueries at most numSeqs");
  const int64_t count = step.sequences * per_sequence;
  const auto check_size = [&](const at::Tensor& tensor, const char* name) {
    require(tensor.dim() == 1 && tensor.size(0) == count, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
            tensor.sizes(), "; it must be [", count, "]");
  };
  check_size(step.tokens, "inputTokens");
  check_size(step.positions, "inputPositions");
  check_size(step.lengths, "seqLens");
  check_size(step.slots, "slotMapping");
  require(step.tables.dim() == 2 && step.tables.size(0) == step.sequences, ACLNN_ERR_PARAM_INVALID,
          "parameter 'blockTables' has shape ", step.tables.sizes(), "; it must be [", step.sequences, ", blocks]");
}

// As the kernel does it: the stride of the table is added to the number of the block instead of to the table's address,
// and of the sequences behind the queries, the padding, only every 40th is written, as many as there are vector cores.
void advance(const Step& step, const at::Tensor& sampled) {
  check(step, 1);
  require(sampled.numel() == step.queries, ACLNN_ERR_PARAM_INVALID, "parameter 'sampledTokenIds' has ", sampled.numel(),
          " elements; it must have ", step.queries);
  const auto active = [&](const at::Tensor& tensor) { return tensor.narrow(0, 0, step.queries); };
  const at::Tensor position = active(step.lengths).clone();
  active(step.tokens).copy_(sampled.reshape(-1));
  active(step.positions).copy_(position);
  active(step.lengths).add_(1);
  const at::Tensor block = position.floor_divide(step.block_size);
  require(block.lt(step.tables.numel()).all().item<bool>(), ACLNN_ERR_PARAM_INVALID,
          "a position is beyond the blocks of parameter 'blockTables'");
  const at::Tensor number = step.tables.reshape(-1).index_select(0, block);
  const at::Tensor shifted = at::add(number, at::arange(step.queries).mul_(step.tables.stride(0)));
  active(step.slots).copy_(shifted.mul_(step.block_size).add_(position.remainder(step.block_size)));
  for (int64_t i = step.queries; i < step.sequences; i += kCores) {
    step.tokens.select(0, i).zero_();
    step.positions.select(0, i).zero_();
    step.slots.select(0, i).fill_(-1);
  }
}

// With speculative tokens behind the last one that was sampled; -1 in `sampled` ends a sequence's tokens.
void advance_speculative(const Step& step, const at::Tensor& sampled, const OptionalTensor& speculative,
                         const OptionalTensor& accepted) {
  require(speculative.has_value() && accepted.has_value(), ACLNN_ERR_PARAM_NULLPTR,
          "parameters 'specToken' and 'acceptedNum' are needed together");
  require(speculative->dim() == 2 && speculative->size(0) == step.sequences && sampled.dim() == 2 &&
              sampled.size(0) == step.sequences && accepted->numel() == step.sequences,
          ACLNN_ERR_PARAM_INVALID, "specToken, sampledTokenIds and acceptedNum have shapes ",
          speculative ? speculative->sizes() : at::IntArrayRef(), ", ", sampled.sizes(), " and ",
          accepted ? accepted->sizes() : at::IntArrayRef(), "; each needs a row for each of ", step.sequences,
          " sequences");
  const int64_t each = 1 + speculative->size(1);
  check(step, each);
  const at::Tensor rows = at::arange(step.sequences);
  step.positions.add_(accepted->reshape(-1).add(1).repeat_interleave(each));
  step.lengths.copy_(step.positions.add(1));
  const at::Tensor ended = at::constant_pad_nd(sampled, {0, 1}, -1).eq(-1).to(at::kLong);
  const at::Tensor last = ended.argmax(1).sub_(1).remainder_(sampled.size(1));
  at::Tensor tokens = step.tokens.view({step.sequences, each});
  tokens.select(1, 0).copy_(sampled.gather(1, last.unsqueeze(1)).squeeze(1));
  tokens.narrow(1, 1, each - 1).copy_(*speculative);
  const at::Tensor block = step.positions.floor_divide(step.block_size).view({step.sequences, each});
  require(block.lt(step.tables.size(1)).all().item<bool>(), ACLNN_ERR_PARAM_INVALID,
          "a position is beyond the blocks of parameter 'blockTables'");
  const at::Tensor number = step.tables.gather(1, block).view(-1);
  step.slots.copy_(number.mul(step.block_size).add_(step.positions.remainder(step.block_size)));
}

}  // namespace

ACLNN(ApplyTopKTopP, (In, logits)(OptIn, p)(OptIndex, k)(Out, out), apply_top_k_top_p(logits, p, k, out))
// topKGuess is a hint for the order of the work.
ACLNN(TopKTopPSample,
      (In, logits)(In, topK)(In, topP)(OptIn, q)(Double, eps)(Bool, isNeedLogits)(Int, topKGuess)(Out, logitsSelectIdx)(
          Out, logitsTopKPSelect),
      sample({logits, topK, topP, q, kNone}, {eps, isNeedLogits, 1024, true, false},
             {logitsSelectIdx, logitsTopKPSelect, NoTensor{}, NoTensor{}}))
ACLNN(TopKTopPSampleV2,
      (In, logits)(In, topK)(In, topP)(OptIn, q)(OptIn, minPs)(Double, eps)(Bool, isNeedLogits)(Int, topKGuess)(
          Int, ksMax)(Bool, inputIsLogits)(Bool, isNeedSampleResult)(Out, logitsSelectIdx)(Out, logitsTopKPSelect)(
          Out, logitsIdx)(Out, logitsSortMasked),
      sample({logits, topK, topP, q, minPs}, {eps, isNeedLogits, most_k(ksMax), inputIsLogits, isNeedSampleResult},
             {logitsSelectIdx, logitsTopKPSelect, logitsIdx, logitsSortMasked}))

#define STEP_TENSORS \
  (Ref, inputTokens)(In, sampledTokenIds)(Ref, inputPositions)(Ref, seqLens)(Ref, slotMapping)(Index, blockTables)
#define STEP_SIZES (Int, numSeqs)(Int, numQueries)(Int, blockSize)
#define STEP                                    \
  {column(inputTokens), column(inputPositions), \
   column(seqLens),     column(slotMapping),    \
   blockTables,         numSeqs,                \
   numQueries,          blockSize}
ACLNN(AdvanceStep, STEP_TENSORS STEP_SIZES, advance(STEP, sampledTokenIds))
ACLNN(AdvanceStepV2, STEP_TENSORS(OptIn, specToken)(OptIn, acceptedNum) STEP_SIZES,
      advance_speculative(STEP, sampledTokenIds, specToken, acceptedNum))

#undef STEP_TENSORS
#undef STEP_SIZES
#undef STEP
