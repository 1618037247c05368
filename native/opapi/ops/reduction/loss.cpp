// native/opapi/ops/reduction/loss.cpp
// Losses and their gradients. reduction: 0 none, 1 mean, 2 sum, as in ATen.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/log_sigmoid.h>

#include "opapi/ops/common/precision.h"
#include "opapi/ops/reduction/total.h"

namespace {

void kl_div(const at::Tensor& self, const at::Tensor& target, int64_t reduction, bool log_target, at::Tensor& out) {
  const at::Tensor loss = at::kl_div(self, target, reduction, log_target);
  if (reduction == at::Reduction::None) {
    assign(out, loss);
  } else {
    write_total(out, [&](at::Tensor& to) { assign(to, loss); });
  }
}

// A loss and the weights that it was divided by, each rounded once; a loss of each element is no total.
template <class Compute>
void write_loss(at::Tensor& out, at::Tensor& total_weight, int64_t reduction, Compute compute) {
  const auto rounded = [&](at::Tensor& loss, at::Tensor& total) {
    rounded_once(loss, [&](at::Tensor& wide_loss) {
      rounded_once(total, [&](at::Tensor& wide_total) { compute(wide_loss, wide_total); });
    });
  };
  write_total(total_weight, [&](at::Tensor& total) {
    if (reduction == at::Reduction::None) {
      rounded(out, total);
    } else {
      write_total(out, [&](at::Tensor& loss) { rounded(loss, total); });
    }
  });
}

// The incoming gradient per element: a mean passes each element its share.
at::Tensor share(const at::Tensor& grad, int64_t reduction, int64_t elements) {
  return reduction == at::Reduction::Mean ? at::div(grad, static_cast<double>(elements)) : grad;
}

void bce_with_logits_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                              const OptionalTensor& weight, const OptionalTensor& pos_weight, int64_t reduction,
                              at::Tensor& out) {
  into(out, at::result_type(self, target), [&](at::Tensor& result) {
    at::sigmoid_out(result, self);
    if (pos_weight) {
      // d/dx of -(p t log s(x) + (1 - t) log(1 - s(x))), with the gradient of log s(x) being 1 - s(x)
      const at::Tensor positive = at::mul(*pos_weight, target);
      result.mul_(at::sub(positive, target).add_(1)).sub_(positive);
    } else {
      result.sub_(target);
    }
    if (weight) result.mul_(*weight);
    result.mul_(share(grad, reduction, self.numel()));
  });
}

void l1_loss_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                      at::Tensor& grad_input) {
  const at::Tensor sign = at::sub(self, target).sign_();
  assign(grad_input, at::mul(sign, share(grad, reduction, sign.numel())));
}

// kl = t (log t - x), or exp(t) (t - x) if the target is given as a logarithm. 0 log 0 counts as 0.
void kl_div_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                     bool log_target, at::Tensor& out) {
  const std::vector<int64_t> shape = at::infer_size(self.sizes(), target.sizes());
  const at::Tensor factor = share(grad, reduction, c10::multiply_integers(shape)).neg();
  const at::Tensor by_element = at::mul(log_target ? at::exp(target) : target, factor);
  assign(out, at::sum_to(by_element.expand(shape), self.sizes()));
}

void kl_div_target_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                            bool log_target, at::Tensor& grad_target) {
  const at::Tensor by_element = log_target ? at::mul(at::exp(target), at::sub(at::add(target, 1), self))
                                           : at::sub(at::add(at::log(target), 1), self).masked_fill_(target.eq(0), 0);
  assign(grad_target, at::sum_to(at::mul(by_element, share(grad, reduction, by_element.numel())), target.sizes()));
}

// The device rounds the last dimension of log_alpha up to whole blocks of 8.
void ctc_loss(const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths,
              at::IntArrayRef target_lengths, int64_t blank, bool zero_infinity, at::Tensor& loss,
              at::Tensor& log_alpha) {
  const auto [result, alpha] = at::_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity);
  assign(loss, result);
  at::Tensor used = log_alpha.narrow(-1, 0, alpha.size(-1));
  used.copy_(alpha.view(used.sizes()));
}

void ctc_loss_backward(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
                       at::IntArrayRef input_lengths, at::IntArrayRef target_lengths, const at::Tensor& loss,
                       const at::Tensor& log_alpha, int64_t blank, bool zero_infinity, at::Tensor& out) {
  const int64_t longest = target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end());
  const at::Tensor alpha = log_alpha.narrow(-1, 0, std::min(log_alpha.size(-1), 2 * longest + 1)).contiguous();
  assign(out, at::_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, loss, alpha, blank,
                                     zero_infinity));
}

// ATen compares these shapes after it has asked for memory, so that phase 1 would not find the error (dry_run.h).
void require_broadcastable(const at::Tensor& self, const at::Tensor& target) {
  at::infer_size(self.sizes(), target.sizes());
}

// Labels are probabilities; the gradient is that of the features.
void softmax_cross_entropy(const at::Tensor& features, const at::Tensor& labels, at::Tensor& loss, at::Tensor& grad) {
  require(features.dim() >= 1, ACLNN_ERR_PARAM_INVALID, "features has no dimensions; allowed: 1 and more");
  require_expandable(labels, features.sizes(), "labels");
  const at::Tensor logarithms = at::log_softmax(widened(features), -1), wanted = widened(labels);
  assign(loss, (logarithms * wanted).sum(-1).neg_().reshape(loss.sizes()));
  assign(grad, logarithms.exp() - wanted);
}

// d/dt of -(p t log s(x) + (1 - t) log(1 - s(x))), where 1 - s(x) is s(-x).
void bce_with_logits_target_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                                     const OptionalTensor& weight, const OptionalTensor& pos_weight, int64_t reduction,
                                     at::Tensor& out) {
  require(target.sizes() == self.sizes(), ACLNN_ERR_PARAM_INVALID, "target has the shape ", target.sizes(),
          "; it must be that of self, ", self.sizes());
  const at::Tensor positive = at::log_sigmoid(self);
  at::Tensor result = at::log_sigmoid(-self).sub_(pos_weight ? positive * *pos_weight : positive);
  if (weight) result = result * *weight;
  assign(out, result * share(grad, reduction, self.numel()));
}

// Each distance pulls its point and the nearest point of the other set, which its index names.
void chamfer_backward(const at::Tensor& points1, const at::Tensor& points2, const at::Tensor& nearest1,
                      const at::Tensor& nearest2, const at::Tensor& grad1, const at::Tensor& grad2, at::Tensor& out1,
                      at::Tensor& out2) {
  require(points1.dim() == 3 && points2.dim() == 3 && points1.size(2) == points2.size(2), ACLNN_ERR_PARAM_INVALID,
          "xyz1 and xyz2 have the shapes ", points1.sizes(), " and ", points2.sizes(),
          "; allowed: [B, N, 2], [B, M, 2]");
  const at::Tensor first = widened(points1), second = widened(points2);
  const int64_t coordinates = first.size(2);
  at::Tensor sum1 = at::zeros(first.sizes(), first.options()), sum2 = at::zeros(second.sizes(), second.options());
  const auto pull = [&](const at::Tensor& from, const at::Tensor& to, const at::Tensor& nearest, const at::Tensor& grad,
                        at::Tensor& by_from, at::Tensor& by_to) {
    const at::Tensor places = nearest.unsqueeze(-1).expand({nearest.size(0), nearest.size(1), coordinates});
    const at::Tensor force = (from - to.gather(1, places)) * widened(grad).unsqueeze(-1) * 2;
    by_from.add_(force);
    by_to.scatter_add_(1, places, -force);
  };
  pull(first, second, nearest1, grad1, sum1, sum2);
  pull(second, first, nearest2, grad2, sum2, sum1);
  assign(out1, sum1);
  assign(out2, sum2);
}

}  // namespace

// ATen's out= forms use the output for the unreduced loss first, whatever its size: only without reduction they fit.
#define REDUCED(FUNCTION, OUT, ...)                                                                             \
  reduction == at::Reduction::None                                                                              \
      ? rounded_once(OUT, [&](at::Tensor& target_of_loss) { at::FUNCTION##_out(target_of_loss, __VA_ARGS__); }) \
      : assign(OUT, at::FUNCTION(__VA_ARGS__))
#define LOSS(NAME, FUNCTION)                                                                                      \
  ACLNN(NAME, (In, self)(In, target)(Int, reduction)(Out, out),                                                   \
        (require_broadcastable(self, target), REDUCED(FUNCTION, out, widened(self), widened(target), reduction))) \
  ACLNN(NAME##Backward, (In, gradOutput)(In, self)(In, target)(Int, reduction)(Out, out),                         \
        rounded_once(out, [&](at::Tensor& gradient) {                                                             \
          at::FUNCTION##_backward_out(gradient, widened(gradOutput), widened(self), widened(target), reduction);  \
        }))

LOSS(MseLoss, mse_loss)
LOSS(SoftMarginLoss, soft_margin_loss)
ACLNN(MseLossOut, (In, self)(In, target)(Int, reduction)(Out, out),
      (require_broadcastable(self, target), REDUCED(mse_loss, out, widened(self), widened(target), reduction)))
ACLNN(SmoothL1Loss, (In, self)(In, target)(Int, reduction)(Float, beta)(Out, result),
      REDUCED(smooth_l1_loss, result, widened(self), widened(target), reduction, beta))
ACLNN(SmoothL1LossBackward, (In, gradOut)(In, self)(In, target)(Int, reduction)(Float, beta)(Out, gradInput),
      rounded_once(gradInput, [&](at::Tensor& gradient) {
        at::smooth_l1_loss_backward_out(gradient, widened(gradOut), widened(self), widened(target), reduction, beta);
      }))
ACLNN(L1Loss, (In, self)(In, target)(Int, reduction)(Out, out),
      assign(out, at::l1_loss(widened(self), widened(target), reduction)))
ACLNN(L1LossBackward, (In, gradOutput)(In, self)(In, target)(Int, reduction)(Out, gradInput),
      l1_loss_backward(widened(gradOutput), widened(self), widened(target), reduction, gradInput))
ACLNN(KlDiv, (In, self)(In, target)(Int, reduction)(Bool, logTarget)(Out, out),
      kl_div(widened(self), widened(target), reduction, logTarget, out))
ACLNN(KlDivBackward, (In, gradOutput)(In, self)(In, target)(Int, reduction)(Bool, logTarget)(Out, out),
      kl_div_backward(widened(gradOutput), widened(self), widened(target), reduction, logTarget, out))
ACLNN(KlDivTargetBackward, (In, gradOutput)(In, self)(In, target)(Int, reduction)(Bool, logTarget)(Out, gradTarget),
      kl_div_target_backward(widened(gradOutput), widened(self), widened(target), reduction, logTarget, gradTarget))

ACLNN(BinaryCrossEntropy, (In, self)(In, target)(OptIn, weight)(Int, reduction)(Out, out),
      REDUCED(binary_cross_entropy, out, widened(self), widened(target), widened(weight), reduction))
ACLNN(BinaryCrossEntropyBackward,
      (In, gradOutput)(In, self)(In, target)(OptIn, weightOptional)(Int, reduction)(Out, out),
      rounded_once(out, [&](at::Tensor& gradient) {
        at::binary_cross_entropy_backward_out(gradient, widened(gradOutput), widened(self), widened(target),
                                              widened(weightOptional), reduction);
      }))
ACLNN(BinaryCrossEntropyWithLogits,
      (In, self)(In, target)(OptIn, weightOptional)(OptIn, posWeightOptional)(Int, reduction)(Out, out),
      assign(out, at::binary_cross_entropy_with_logits(widened(self), widened(target), widened(weightOptional),
                                                       widened(posWeightOptional), reduction)))
ACLNN(BinaryCrossEntropyWithLogitsBackward,
      (In, gradOutput)(In, self)(In, target)(OptIn, weightOptional)(OptIn, posWeightOptional)(Int, reduction)(Out, out),
      bce_with_logits_backward(widened(gradOutput), widened(self), widened(target), widened(weightOptional),
                               widened(posWeightOptional), reduction, out))
ACLNN(BinaryCrossEntropyWithLogitsTargetBackward,
      (In, gradOutput)(In, self)(In, target)(OptIn, weightOptional)(OptIn,
                                                                    posWeightOptional)(Int, reduction)(Out, gradTarget),
      bce_with_logits_target_backward(widened(gradOutput), widened(self), target, widened(weightOptional),
                                      widened(posWeightOptional), reduction, gradTarget))

ACLNN(NLLLoss,
      (In, self)(Index, target)(OptIn, weight)(Int, reduction)(Int, ignoreIndex)(Out, out)(Out, totalWeightOut),
      write_loss(out, totalWeightOut, reduction, [&](at::Tensor& loss, at::Tensor& total) {
        at::nll_loss_forward_out(loss, total, widened(self), target, widened(weight), reduction, ignoreIndex);
      }))
ACLNN(NLLLossBackward,
      (In, gradOutput)(In, self)(Index, target)(OptIn, weight)(Int, reduction)(Int, ignoreIndex)(In, totalWeight)(Out,
                                                                                                                  out),
      at::nll_loss_backward_out(out, gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight))
ACLNN(NLLLoss2d,
      (In, self)(Index, target)(OptIn, weight)(Int, reduction)(Int, ignoreIndex)(Out, out)(Out, totalWeightOut),
      write_loss(out, totalWeightOut, reduction, [&](at::Tensor& loss, at::Tensor& total) {
        at::nll_loss2d_forward_out(loss, total, widened(self), target, widened(weight), reduction, ignoreIndex);
      }))
ACLNN(NLLLoss2dBackward,
      (In, gradOutput)(In, self)(Index, target)(OptIn, weight)(Int, reduction)(Int, ignoreIndex)(In, totalWeight)(Out,
                                                                                                                  out),
      at::nll_loss2d_backward_out(out, gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight))
ACLNN(MultilabelMarginLoss, (In, self)(Index, target)(Int, reduction)(Out, out)(Out, isTarget),
      at::multilabel_margin_loss_forward_out(out, isTarget, self, target, reduction))
ACLNN(CtcLoss,
      (In, logProbs)(Index, targets)(Ints, inputLengths)(Ints, targetlengths)(Int, blank)(Bool, zeroInfinity)(
          Out, negLogLikelihoodOut)(Out, logAlphaOut),
      ctc_loss(logProbs, targets, inputLengths, targetlengths, blank, zeroInfinity, negLogLikelihoodOut, logAlphaOut))
ACLNN(CtcLossBackward,
      (In, gradOut)(In, logProbs)(Index, targets)(Ints, inputLengths)(Ints, targetLengths)(In, negLogLikelihood)(
          In, logAlpha)(Int, blank)(Bool, zeroInfinity)(Out, out),
      ctc_loss_backward(gradOut, logProbs, targets, inputLengths, targetLengths, negLogLikelihood, logAlpha, blank,
                        zeroInfinity, out))

#undef REDUCED
#undef LOSS
ACLNN(SoftmaxCrossEntropyWithLogits, (In, features)(In, labels)(Out, loss)(Out, backprop),
      softmax_cross_entropy(features, labels, loss, backprop))
ACLNN(ChamferDistanceBackward,
      (In, xyz1)(In, xyz2)(Index, idx1)(Index, idx2)(In, gradDist1)(In, gradDist2)(Out, gradXyz1)(Out, gradXyz2),
      chamfer_backward(xyz1, xyz2, idx1, idx2, gradDist1, gradDist2, gradXyz1, gradXyz2))
