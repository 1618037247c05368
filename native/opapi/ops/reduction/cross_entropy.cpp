// native/opapi/ops/reduction/cross_entropy.cpp
// Cross entropy as torch_npu's own operators compute it: from logits in one call, and in the parts of a vocabulary that
// is spread over devices. Everything is computed in float32 and rounded once.
#include "opapi/opapi.h"

namespace {

struct Targets {
  at::Tensor index;   // ignored targets point to class 0
  at::Tensor kept;    // 1 where the target counts, 0 where it is ignored
  at::Tensor weight;  // of each sample's class, 0 where ignored
  at::Tensor total;   // what a mean is divided by
};

Targets targets_of(const at::Tensor& target, const at::Tensor& class_weight, int64_t ignore_index) {
  const at::Tensor kept = target.ne(ignore_index);
  const at::Tensor index = at::mul(target, kept);
  const at::Tensor weight = class_weight.index_select(0, index).mul_(kept);
  return {index, kept.to(at::kFloat), weight, weight.sum()};
}

at::Tensor class_weights(const OptionalTensor& weight, int64_t classes) {
  if (!weight) return at::ones({classes}, at::kFloat);
  require(weight->dim() == 1 && weight->size(0) == classes, ACLNN_ERR_PARAM_INVALID, "weightOptional has the shape ",
          weight->sizes(), "; allowed: [", classes, "]");
  return weight->to(at::kFloat);
}

enum class Reduction { kNone, kMean, kSum };

Reduction reduction_named(const std::string& name) {
  if (name == "none") return Reduction::kNone;
  if (name == "mean" || name.empty()) return Reduction::kMean;
  if (name == "sum") return Reduction::kSum;
  fail(ACLNN_ERR_PARAM_INVALID, "reductionOptional is '", name, "'; allowed: mean, sum, none");
}

struct Zloss {
  double scale;
  bool wanted;
};

void refuse_zloss(Zloss zloss) {
  require(zloss.scale == 0, ACLNN_ERR_PARAM_INVALID, "lseSquareScaleForZloss is ", zloss.scale,
          "; allowed: 0 (no zloss)");
  require(!zloss.wanted, ACLNN_ERR_PARAM_INVALID, "a zloss is asked for; it is not supported");
}

void check_samples(const at::Tensor& scores, const at::Tensor& target, const char* name) {
  require(scores.dim() == 2 && scores.size(1) > 0, ACLNN_ERR_PARAM_INVALID, name, " has the shape ", scores.sizes(),
          "; allowed: [samples, classes]");
  require(target.dim() == 1 && target.size(0) == scores.size(0), ACLNN_ERR_PARAM_INVALID, "target has the shape ",
          target.sizes(), "; allowed: [", scores.size(0), "]");
}

void check_smoothing(double smoothing) {
  require(smoothing >= 0 && smoothing <= 1, ACLNN_ERR_PARAM_INVALID, "labelSmoothing is ", smoothing,
          "; allowed: 0 to 1");
}

void cross_entropy(const at::Tensor& input, const at::Tensor& target, const OptionalTensor& weight, Reduction reduction,
                   int64_t ignore_index, double smoothing, Zloss zloss, at::Tensor& loss, at::Tensor& log_prob) {
  refuse_zloss(zloss);
  check_samples(input, target, "input");
  check_smoothing(smoothing);
  const at::Tensor scores = at::log_softmax(input.to(at::kFloat), 1);
  const at::Tensor by_class = class_weights(weight, input.size(1));
  const Targets targets = targets_of(target, by_class, ignore_index);
  at::Tensor each = scores.gather(1, targets.index.unsqueeze(1)).squeeze(1).mul_(targets.weight).neg_();
  if (smoothing > 0) {
    const at::Tensor even = scores.mv(by_class).mul_(targets.kept).neg_();
    each.mul_(1 - smoothing).add_(even, smoothing / static_cast<double>(input.size(1)));
  }
  if (reduction != Reduction::kNone) each = each.sum().reshape(loss.sizes());
  if (reduction == Reduction::kMean) each.div_(targets.total);
  assign(loss, each);
  assign(log_prob, scores);
}

void cross_entropy_grad(const at::Tensor& grad, const at::Tensor& log_prob, const at::Tensor& target,
                        const OptionalTensor& weight, Reduction reduction, int64_t ignore_index, double smoothing,
                        Zloss zloss, at::Tensor& out) {
  refuse_zloss(zloss);
  check_samples(log_prob, target, "logProb");
  check_smoothing(smoothing);
  const at::Tensor by_class = class_weights(weight, log_prob.size(1));
  const Targets targets = targets_of(target, by_class, ignore_index);
  at::Tensor by_loss = grad.to(at::kFloat).reshape({-1});
  if (reduction == Reduction::kMean) by_loss = at::div(by_loss, targets.total);
  const at::Tensor by_target = at::mul(by_loss, targets.weight).mul_(1 - smoothing);
  const at::Tensor by_even = at::mul(by_loss, targets.kept).mul_(smoothing / static_cast<double>(log_prob.size(1)));
  const at::Tensor total = at::add(by_target, at::mul(by_even, by_class.sum()));
  at::Tensor result = at::exp(log_prob.to(at::kFloat)).mul_(total.unsqueeze(1));
  result.scatter_add_(1, targets.index.unsqueeze(1), by_target.neg().unsqueeze(1));
  result.addcmul_(by_even.unsqueeze(1), by_class, -1);
  assign(out, result);
}

// Flags of eight samples in one byte, the first in the lowest bit; what is left over is set.
at::Tensor bit_places() { return at::tensor({1, 2, 4, 8, 16, 32, 64, 128}, at::kByte); }

at::Tensor packed(const at::Tensor& flags, int64_t bytes) {
  at::Tensor bits = at::ones({bytes, 8}, at::kByte);
  bits.flatten().narrow(0, 0, flags.numel()).copy_(flags);
  return bits.mul_(bit_places()).sum(1, /*keepdim=*/false, at::kByte);
}

at::Tensor unpacked(const at::Tensor& bytes, int64_t samples) {
  require(bytes.numel() * 8 >= samples, ACLNN_ERR_PARAM_INVALID, "targetMask has ", bytes.numel(), " bytes for ",
          samples, " samples; needed is one bit for each");
  return bytes.reshape({-1, 1}).bitwise_and(bit_places()).ne(0).flatten().narrow(0, 0, samples);
}

void check_parts(const at::Tensor& input, const at::Tensor& weight) {
  require(input.dim() == 2 && weight.dim() == 2 && input.size(1) == weight.size(1), ACLNN_ERR_PARAM_INVALID,
          "input and weight have the shapes ", input.sizes(), " and ", weight.sizes(),
          "; allowed: [samples, features] and [vocabulary, features]");
}

// `last` is the first token behind this device's part of the vocabulary: CANN's kernels and their tests agree about
// that, although the function's page reads as if it were the last one within.
struct OnlineResults {
  at::Tensor &largest, &sum, &predicted, &mask, &masked_target, &logits;
};

void online_max_sum(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target, int64_t first,
                    int64_t last, OnlineResults out) {
  check_parts(input, weight);
  require(target.sizes() == at::IntArrayRef({input.size(0)}), ACLNN_ERR_PARAM_INVALID, "target has the shape ",
          target.sizes(), "; allowed: [", input.size(0), "]");
  require(first >= 0 && first <= last && last - first <= weight.size(0), ACLNN_ERR_PARAM_INVALID, "vocabStartIndex is ",
          first, " and vocabEndIndex is ", last, "; allowed: 0 <= start <= end <= start + ", weight.size(0));
  const at::Tensor logits = input.to(at::kFloat).mm(weight.to(at::kFloat).t());
  const at::Tensor largest = logits.amax(1);
  const at::Tensor below = at::sub(logits, largest.unsqueeze(1));
  const at::Tensor elsewhere = target.lt(first).logical_or_(target.ge(last));
  const at::Tensor index = at::sub(target, first).masked_fill_(elsewhere, 0);
  assign(out.largest, largest);
  assign(out.sum, at::exp(below).sum(1));
  assign(out.predicted, below.gather(1, index.unsqueeze(1)).squeeze(1).masked_fill_(elsewhere, 0));
  assign(out.mask, packed(elsewhere, out.mask.numel()));
  assign(out.masked_target, index);
  if (out.logits.defined()) assign(out.logits, logits);
}

at::Tensor softmax_of(const at::Tensor& logits, const at::Tensor& largest, const at::Tensor& sum) {
  return at::sub(logits.to(at::kFloat), largest.unsqueeze(1)).exp_().div_(sum.unsqueeze(1));
}

void loss_with_max_sum(const at::Tensor& largest, const at::Tensor& sum, const at::Tensor& predicted, float smoothing,
                       bool has_operands, const OptionalTensor& logits, at::Tensor& loss, at::Tensor& softmax) {
  require(smoothing == 0, ACLNN_ERR_PARAM_INVALID, "labelSmoothing is ", smoothing, "; allowed: 0");
  // With the logits given CANN does not look at the operands that they are the product of.
  require(!has_operands || logits, ACLNN_ERR_PARAM_INVALID,
          "inputOptional or weightOptional is given without vocabParallelLogitsOptional; allowed: null");
  assign(loss, at::sub(at::log(sum), predicted));
  if (!logits) return;
  require(softmax.defined(), ACLNN_ERR_PARAM_NULLPTR,
          "softMaxOutOptional is null, but vocabParallelLogitsOptional is given");
  assign(softmax, softmax_of(*logits, largest, sum));
}

struct LinearGradients {
  at::Tensor &input, &weight;
};

void linear_cross_entropy_grad(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                               const at::Tensor& mask, const at::Tensor& target, float smoothing, at::Tensor softmax,
                               LinearGradients out) {
  require(smoothing == 0, ACLNN_ERR_PARAM_INVALID, "labelSmoothing is ", smoothing, "; allowed: 0");
  const at::Tensor here = unpacked(mask, input.size(0)).logical_not().to(at::kFloat);
  softmax.scatter_add_(1, target.unsqueeze(1), here.neg().unsqueeze(1));
  softmax.mul_(grad.unsqueeze(1));
  assign(out.input, softmax.mm(weight.to(at::kFloat)));
  assign(out.weight, softmax.t().mm(input.to(at::kFloat)));
}

// The softmax that the forward kept, or computed again from what it took.
at::Tensor kept_softmax(const OptionalTensor& softmax, const at::Tensor& input, const at::Tensor& weight,
                        const OptionalTensor& largest, const OptionalTensor& sum) {
  check_parts(input, weight);
  if (softmax) return softmax->to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  require(largest && sum, ACLNN_ERR_PARAM_NULLPTR,
          "softmaxOptional is null; then logitsMaxOptional and sumExpLogitsOptional are needed");
  return softmax_of(input.to(at::kFloat).mm(weight.to(at::kFloat).t()), *largest, *sum);
}

struct VocabularyPart {
  int64_t begin, end;
};

struct PartOutputs {
  at::Tensor &predicted, &sum, &exponentials, &offset, &mask;
};

// Between the reductions over the ranks: what one rank's part of the vocabulary gives to each target.
void exponentials_of_part(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& highest,
                          VocabularyPart part, PartOutputs out) {
  require(logits.dim() > 0 && target.sizes() == logits.sizes().slice(0, logits.dim() - 1), ACLNN_ERR_PARAM_INVALID,
          "vocabParallelLogits and target have the shapes ", logits.sizes(), " and ", target.sizes(),
          "; allowed: [..., vocabulary] and [...]");
  require(highest.sizes() == target.sizes(), ACLNN_ERR_PARAM_INVALID, "globalLogitsMax has the shape ", highest.sizes(),
          "; it must be that of target, ", target.sizes());
  require(part.begin >= 0 && part.end - part.begin == logits.size(-1), ACLNN_ERR_PARAM_INVALID,
          "vocabStartIndex and vocabEndIndex are ", part.begin, " and ", part.end, "; vocabParallelLogits has ",
          logits.size(-1), " columns");
  const at::Tensor outside = target.lt(part.begin).logical_or_(target.ge(part.end));
  const at::Tensor offset = (target - part.begin).masked_fill_(outside, 0);
  const at::Tensor moved = logits.to(at::kFloat) - highest.to(at::kFloat).unsqueeze(-1);
  const at::Tensor exponentials = moved.exp();
  assign(out.predicted, moved.gather(-1, offset.unsqueeze(-1)).squeeze(-1).masked_fill_(outside, 0));
  assign(out.sum, exponentials.sum(-1));
  assign(out.exponentials, exponentials);
  assign(out.offset, offset);
  assign(out.mask, outside);
}

}  // namespace

ACLNN(CrossEntropyLoss,
      (In, input)(Index, target)(OptIn, weightOptional)(Text, reductionOptional)(Int, ignoreIndex)(
          Double, labelSmoothing)(Double, lseSquareScaleForZloss)(Bool, returnZloss)(Out, lossOut)(Out, logProbOut)(
          OptOut, zlossOut)(OptOut, lseForZlossOut),
      cross_entropy(input, target, weightOptional, reduction_named(reductionOptional), ignoreIndex, labelSmoothing,
                    {lseSquareScaleForZloss, returnZloss}, lossOut, logProbOut))
ACLNN(CrossEntropyLossGrad,
      (In, gradLoss)(In, logProb)(Index, target)(OptIn, weightOptional)(OptIn, gradZlossOptional)(OptIn,
                                                                                                  lseForZlossOptional)(
          Text, reductionOptional)(Int, ignoreIndex)(Double, labelSmoothing)(Double, lseSquareScaleForZloss)(Out, out),
      cross_entropy_grad(gradLoss, logProb, target, weightOptional, reduction_named(reductionOptional), ignoreIndex,
                         labelSmoothing, {lseSquareScaleForZloss, gradZlossOptional && gradZlossOptional->numel() > 0},
                         out))
ACLNN(CrossEntropySumExpAndIndexLogit,
      (In, vocabParallelLogits)(Index, target)(In, globalLogitsMax)(Int, vocabStartIndex)(Int, vocabEndIndex)(
          Out, predictedLogitsOut)(Out, sumExpLogitsOut)(Out, expLogitsOut)(Out, targetOffsetOut)(Out, targetMaskOut),
      exponentials_of_part(vocabParallelLogits, target, globalLogitsMax, {vocabStartIndex, vocabEndIndex},
                           {predictedLogitsOut, sumExpLogitsOut, expLogitsOut, targetOffsetOut, targetMaskOut}))
ACLNN(FusedLinearOnlineMaxSum,
      (In, input)(In, weight)(Index, target)(Int, vocabStartIndex)(Int, vocabEndIndex)(Out, logitsMaxLocalOut)(
          Out, sumExpLogitsLocalOut)(Out, predictedLogitsLocalOut)(Out, targetMaskOut)(Out, maskedTargetOut)(
          OptOut, vocabParallelLogitsOutOptional),
      online_max_sum(input, weight, target, vocabStartIndex, vocabEndIndex,
                     {logitsMaxLocalOut, sumExpLogitsLocalOut, predictedLogitsLocalOut, targetMaskOut, maskedTargetOut,
                      vocabParallelLogitsOutOptional}))
ACLNN(FusedCrossEntropyLossWithMaxSum,
      (In, logitsMax)(In, sumExpLogits)(In, predictedLogits)(Float, labelSmoothing)(OptIn, inputOptional)(
          OptIn, weightOptional)(OptIn, vocabParallelLogitsOptional)(Out, lossOut)(OptOut, softMaxOutOptional),
      loss_with_max_sum(logitsMax, sumExpLogits, predictedLogits, labelSmoothing, inputOptional || weightOptional,
                        vocabParallelLogitsOptional, lossOut, softMaxOutOptional))
ACLNN(FusedLinearCrossEntropyLossGrad,
      (In, grad)(In, input)(In, weight)(In, targetMask)(Index, maskedTarget)(Float, labelSmoothing)(OptIn,
                                                                                                    logitsMaxOptional)(
          OptIn, sumExpLogitsOptional)(OptIn, softmaxOptional)(Out, inputGradOut)(Out, weightGradOut),
      linear_cross_entropy_grad(grad, input, weight, targetMask, maskedTarget, labelSmoothing,
                                kept_softmax(softmaxOptional, input, weight, logitsMaxOptional, sumExpLogitsOptional),
                                {inputGradOut, weightGradOut}))
