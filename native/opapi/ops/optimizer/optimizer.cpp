// native/opapi/ops/optimizer/optimizer.cpp
// Optimizer steps and gradient scaling.
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include "opapi/opapi.h"

namespace {

using Tensors = std::vector<at::Tensor>;

// ATen's fused optimizers walk through memory element by element. This is a list of dense tensors for them: the tensors
// themselves, or copies that `write_back` returns.
class Dense {
 public:
  explicit Dense(Tensors& originals) : originals_(originals) {
    for (const at::Tensor& tensor : originals) tensors_.push_back(tensor.contiguous());
  }
  operator at::TensorList() const { return tensors_; }
  void write_back() const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!tensors_[i].is_same(originals_[i])) originals_[i].copy_(tensors_[i]);
    }
  }

 private:
  Tensors& originals_;
  Tensors tensors_;
};

using FusedAdam =
    decltype(static_cast<void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                                  at::TensorList, double, double, double, double, double, bool, bool,
                                  const OptionalTensor&, const OptionalTensor&)>(at::_fused_adam_));

struct AdamOptions {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize;
};

void fused_adam(FusedAdam step_function, Tensors& params, Tensors& grads, Tensors& exp_avgs, Tensors& exp_avg_sqs,
                Tensors& max_exp_avg_sqs, const Tensors& steps, const AdamOptions& options,
                const OptionalTensor& grad_scale, const OptionalTensor& found_inf) {
  const Dense dense[] = {Dense(params), Dense(grads), Dense(exp_avgs), Dense(exp_avg_sqs), Dense(max_exp_avg_sqs)};
  step_function(dense[0], dense[1], dense[2], dense[3], dense[4], steps, options.lr, options.beta1, options.beta2,
                options.weight_decay, options.eps, options.amsgrad, options.maximize, grad_scale, found_inf);
  for (const Dense& list : dense) list.write_back();
}

// One tensor; `step` counts the steps before this one.
void adamw_v2(at::Tensor& var, at::Tensor& m, at::Tensor& v, at::Tensor& max, const at::Tensor& grad,
              const at::Tensor& step, const AdamOptions& options) {
  Tensors params{var}, grads{grad.to(var.scalar_type())}, exp_avgs{m}, exp_avg_sqs{v}, maxima;
  if (max.defined()) maxima.push_back(max);
  fused_adam(at::_fused_adamw_, params, grads, exp_avgs, exp_avg_sqs, maxima, {step.to(at::kFloat).add_(1)}, options,
             std::nullopt, std::nullopt);
}

double number(const at::Tensor& tensor) {
  require(tensor.numel() == 1, ACLNN_ERR_PARAM_INVALID, "a tensor with ", tensor.numel(),
          " elements stands where one number is expected");
  return tensor.item().toDouble();
}

// Moving averages of the gradient and of its square.
void update_moments(at::Tensor& m, at::Tensor& v, const at::Tensor& grad, double beta1, double beta2) {
  m.copy_(m * beta1 + grad * (1 - beta1));
  v.copy_(v * beta2 + grad * grad * (1 - beta2));
}

void adam(at::Tensor& var, at::Tensor& m, at::Tensor& v, double beta1_power, double beta2_power, double lr,
          double beta1, double beta2, double epsilon, const at::Tensor& grad, bool nesterov) {
  update_moments(m, v, grad, beta1, beta2);
  const double rate = lr * std::sqrt(1 - beta2_power) / (1 - beta1_power);
  const at::Tensor direction = nesterov ? m * beta1 + grad * (1 - beta1) : m;
  var.sub_(direction.div(v.sqrt().add_(epsilon)), rate);
}

// beta1_power and beta2_power belong to the step before this one.
void adamw(at::Tensor& var, at::Tensor& m, at::Tensor& v, double beta1_power, double beta2_power, double lr,
           double weight_decay, double beta1, double beta2, double eps, const at::Tensor& gradient,
           const OptionalTensor& max, bool amsgrad, bool maximize) {
  require(!amsgrad || max, ACLNN_ERR_PARAM_NULLPTR, "amsgrad needs maxGradNormOptional, but it is null");
  update_moments(m, v, maximize ? gradient.neg() : gradient, beta1, beta2);
  const at::Tensor second = amsgrad ? at::maximum(*max, v) : v;
  const at::Tensor denominator = second.div(1 - beta2_power * beta2).sqrt_().add_(eps);
  var.mul_(1 - lr * weight_decay).sub_(m.div(denominator), lr / (1 - beta1_power * beta1));
}

void sgd(Tensors& params, Tensors& grads, Tensors& momentum_buffers, const OptionalTensor& grad_scale,
         double weight_decay, double momentum, double lr, double dampening, bool nesterov, bool maximize,
         bool is_first_step) {
  const Dense dense[] = {Dense(params), Dense(grads), Dense(momentum_buffers)};
  at::_fused_sgd_(dense[0], dense[1], dense[2], weight_decay, momentum, lr, dampening, nesterov, maximize,
                  is_first_step, grad_scale);
  for (const Dense& list : dense) list.write_back();
}

void update_scale(at::Tensor& scale, at::Tensor& tracker, const at::Tensor& current_scale,
                  const at::Tensor& current_tracker, const at::Tensor& found_inf, double growth, double backoff,
                  int64_t interval) {
  begin_with(tracker, current_tracker);
  at::_amp_update_scale_(begin_with(scale, current_scale), tracker, found_inf, growth, backoff, interval);
}

}  // namespace

ACLNN(FusedAdam,
      (RefList, paramsRef)(RefList, gradsRef)(RefList, expAvgsRef)(RefList, expAvgSqsRef)(OptRefList, maxExpAvgSqsRef)(
          TensorList, stateSteps)(OptIn, gradScaleOptional)(OptIn, foundInfOptional)(Double, lr)(Double, beta1)(
          Double, beta2)(Double, weightDecay)(Double, eps)(Bool, amsgrad)(Bool, maximize),
      fused_adam(at::_fused_adam_, paramsRef, gradsRef, expAvgsRef, expAvgSqsRef, maxExpAvgSqsRef, stateSteps,
                 {lr, beta1, beta2, weightDecay, eps, amsgrad, maximize}, gradScaleOptional, foundInfOptional))
ACLNN(ApplyAdamWV2,
      (Ref, varRef)(Ref, mRef)(Ref, vRef)(OptOut, maxGradNormOptionalRef)(In, grad)(In, step)(Float, lr)(Float, beta1)(
          Float, beta2)(Float, weightDecay)(Float, eps)(Bool, amsgrad)(Bool, maximize),
      adamw_v2(varRef, mRef, vRef, maxGradNormOptionalRef, grad, step,
               {lr, beta1, beta2, weightDecay, eps, amsgrad, maximize}))
ACLNN(ApplyAdamW,
      (Ref, varRef)(Ref, mRef)(Ref, vRef)(In, beta1Power)(In, beta2Power)(In, lr)(In, weightDecay)(In, beta1)(
          In, beta2)(In, eps)(In, grad)(OptIn, maxGradNormOptional)(Bool, amsgrad)(Bool, maximize),
      adamw(varRef, mRef, vRef, number(beta1Power), number(beta2Power), number(lr), number(weightDecay), number(beta1),
            number(beta2), number(eps), grad, maxGradNormOptional, amsgrad, maximize))
ACLNN(ApplyAdam,
      (Ref, varRef)(Ref, m)(Ref, v)(In, beta1Power)(In, beta2Power)(In, lr)(In, beta1)(In, beta2)(In, epsilon)(
          In, grad)(Bool, useLocking)(Bool, useNesterov),
      adam(varRef, m, v, number(beta1Power), number(beta2Power), number(lr), number(beta1), number(beta2),
           number(epsilon), grad, useNesterov))
ACLNN(FusedSgd,
      (RefList, paramsRef)(RefList, gradsRef)(OptRefList, momentumBufferListOptionalRef)(OptIn, gradScaleOptional)(
          Float, weightDecay)(Float, momentum)(Float, lr)(Float,
                                                          dampening)(Bool, nesterov)(Bool, maximize)(Bool, isFirstStep),
      sgd(paramsRef, gradsRef, momentumBufferListOptionalRef, gradScaleOptional, weightDecay, momentum, lr, dampening,
          nesterov, maximize, isFirstStep))

ACLNN(AmpUpdateScale,
      (In, currentScale)(In, growthTracker)(In, foundInf)(Double, growthFactor)(Double, backoffFactor)(
          Int, growthInterval)(Out, updatedScale)(Out, updatedGrowthTracker),
      update_scale(updatedScale, updatedGrowthTracker, currentScale, growthTracker, foundInf, growthFactor,
                   backoffFactor, growthInterval))
ACLNN(ForeachNonFiniteCheckAndUnscale, (RefList, scaledGrads)(Ref, foundInf)(In, invScale),
      at::_amp_foreach_non_finite_check_and_unscale_(scaledGrads, foundInf, invScale))
