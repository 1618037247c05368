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

// The number of steps. CANN documents one element, and passes more in its examples: the first one counts.
at::Tensor first_number(const at::Tensor& tensor) {
  require(tensor.numel() > 0, ACLNN_ERR_PARAM_INVALID, "a tensor without elements stands where a number is expected");
  return tensor.flatten().select(0, 0).to(at::kFloat);
}

Tensors first_numbers(const Tensors& tensors) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(first_number(tensor));
  return result;
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

struct EmaAdamOptions {
  double lr, ema_decay, beta1, beta2, eps, weight_decay;
  bool decoupled, corrected;
};

// Adam, or AdamW if the weight decay is decoupled from the gradient, and a moving average of the parameters.
void fused_ema_adam(at::Tensor& var, at::Tensor& m, at::Tensor& v, at::Tensor& average, const at::Tensor& gradient,
                    const at::Tensor& step, const EmaAdamOptions& options) {
  const double steps = number(first_number(step));
  const auto correction = [&](double beta) { return options.corrected ? 1 - std::pow(beta, steps) : 1; };
  const at::Tensor weights = var.to(at::kFloat);
  const at::Tensor plain = gradient.to(at::kFloat);
  const at::Tensor grad = options.decoupled ? plain : plain + weights * options.weight_decay;
  const at::Tensor first = m.to(at::kFloat) * options.beta1 + grad * (1 - options.beta1);
  const at::Tensor second = v.to(at::kFloat) * options.beta2 + grad * grad * (1 - options.beta2);
  at::Tensor update =
      (first / correction(options.beta1)) / ((second / correction(options.beta2)).sqrt_() + options.eps);
  if (options.decoupled) update = update + weights * options.weight_decay;
  const at::Tensor result = weights - update * options.lr;
  m.copy_(first);
  v.copy_(second);
  var.copy_(result);
  average.copy_(average.to(at::kFloat) * options.ema_decay + result * (1 - options.ema_decay));
}

// Numbers kept as indices into an ascending map, times the largest magnitude of their block.
class MappedMoment {
 public:
  MappedMoment(const at::Tensor& indices, const at::Tensor& map, const at::Tensor& largest, int64_t block)
      : map_(map.to(at::kFloat)), block_(block), count_(indices.numel()) {
    const int64_t blocks = (count_ + block - 1) / block;
    require(map.dim() == 1 && indices.scalar_type() == at::kByte && map.numel() == 256, ACLNN_ERR_PARAM_INVALID,
            "the indices are ", indices.scalar_type(), " and the map has the shape ", map.sizes(),
            "; allowed: uint8, [256]");
    require(largest.numel() == blocks, ACLNN_ERR_PARAM_INVALID, "there are ", largest.numel(), " largest values for ",
            blocks, " blocks");
    values_ =
        map_.take(indices.flatten().to(at::kLong)) * largest.flatten().repeat_interleave(block).narrow(0, 0, count_);
  }
  at::Tensor& values() { return values_; }
  // Each number becomes the nearest one of the map.
  void store(at::Tensor& indices, at::Tensor& largest) const {
    const int64_t blocks = largest.numel();
    const at::Tensor padded = at::constant_pad_nd(values_, {0, blocks * block_ - count_}).view({blocks, block_});
    const at::Tensor tops = padded.abs().amax(1);
    const at::Tensor unit = (padded / tops.masked_fill(tops == 0, 1).unsqueeze(1)).flatten().narrow(0, 0, count_);
    const at::Tensor middles = (map_.slice(0, 1) + map_.slice(0, 0, -1)) / 2;
    indices.copy_(at::searchsorted(middles, unit.contiguous()).view(indices.sizes()));
    largest.copy_(tops.view(largest.sizes()));
  }

 private:
  at::Tensor map_, values_;
  int64_t block_, count_;
};

void adamw_quant(at::Tensor& var, const at::Tensor& gradient, MappedMoment m, MappedMoment v, const at::Tensor& step,
                 const AdamOptions& options, double gradient_scale, at::Tensor& m_indices, at::Tensor& v_indices,
                 at::Tensor& m_largest, at::Tensor& v_largest) {
  const double steps = number(first_number(step));
  const at::Tensor grad = gradient.to(at::kFloat).flatten() * gradient_scale;
  m.values() = m.values() * options.beta1 + grad * (1 - options.beta1);
  v.values() = v.values() * options.beta2 + grad * grad * (1 - options.beta2);
  const at::Tensor denominator = (v.values() / (1 - std::pow(options.beta2, steps))).sqrt_().add_(options.eps);
  const at::Tensor update = m.values() / (1 - std::pow(options.beta1, steps)) / denominator;
  const at::Tensor weights = var.to(at::kFloat).flatten();
  var.copy_((weights - (update + weights * options.weight_decay) * options.lr).view(var.sizes()));
  m.store(m_indices, m_largest);
  v.store(v_indices, v_largest);
}

int64_t block_of_map(int64_t size) {
  require(size == 256, ACLNN_ERR_PARAM_INVALID, "blockSize is ", size, "; allowed: 256");
  return size;
}

bool is_decoupled(int64_t mode) {
  require(mode == 0 || mode == 1, ACLNN_ERR_PARAM_INVALID, "mode is ", mode, "; allowed: 0 (Adam), 1 (AdamW)");
  return mode == 1;
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
ACLNN(FusedAdamw,
      (RefList, paramsRef)(RefList, grads)(RefList, expAvgsRef)(RefList, expAvgSqsRef)(OptRefList, maxExpAvgSqsRef)(
          TensorList, stateSteps)(OptIn, gradScaleOptional)(OptIn, foundInfOptional)(Double, lr)(Double, beta1)(
          Double, beta2)(Double, weightDecay)(Double, eps)(Bool, amsgrad)(Bool, maximize),
      fused_adam(at::_fused_adamw_, paramsRef, grads, expAvgsRef, expAvgSqsRef, maxExpAvgSqsRef,
                 first_numbers(stateSteps), {lr, beta1, beta2, weightDecay, eps, amsgrad, maximize}, gradScaleOptional,
                 foundInfOptional))
ACLNN(ApplyAdamWQuant,
      (Ref, varRef)(In, grad)(Ref, mRef)(Ref, vRef)(In, qmapM)(In, qmapV)(Ref, absmaxMRef)(Ref, absmaxVRef)(In, step)(
          Double, lr)(Double, beta1)(Double, beta2)(Double, weightDecay)(Double, eps)(Double, gnormScale)(
          Text, quantModeOptional)(Int, blockSize),
      adamw_quant(varRef, grad, {mRef, qmapM, absmaxMRef, block_of_map(blockSize)},
                  {vRef, qmapV, absmaxVRef, block_of_map(blockSize)}, step,
                  {lr, beta1, beta2, weightDecay, eps, false, false}, gnormScale, mRef, vRef, absmaxMRef, absmaxVRef))
ACLNN(ApplyFusedEmaAdam,
      (In, grad)(Ref, varRef)(Ref, mRef)(Ref, vRef)(Ref, sRef)(In, step)(Double, lr)(Double, emaDecay)(Double, beta1)(
          Double, beta2)(Double, eps)(Int, mode)(Bool, biasCorrection)(Double, weightDecay),
      fused_ema_adam(varRef, mRef, vRef, sRef, grad, step,
                     {lr, emaDecay, beta1, beta2, eps, weightDecay, is_decoupled(mode), biasCorrection}))
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
