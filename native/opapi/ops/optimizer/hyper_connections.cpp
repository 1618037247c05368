// native/opapi/ops/optimizer/hyper_connections.cpp
// Manifold-constrained hyper-connections (mHC): n streams of width D beside each other, x [..., n, D]. A layer reads a
// mixture of the streams (pre), its result is written to all of them (post), and they are mixed by a doubly stochastic
// matrix (Sinkhorn). Computed in float32.
#include "opapi/opapi.h"

namespace {

// ---- post: y = h_res^T x + h_post h_out

void post(const at::Tensor& x, const OptionalTensor& mixing, const at::Tensor& layer, const at::Tensor& weights,
          at::Tensor& out) {
  at::Tensor result = at::mul(to_float(layer).unsqueeze(-2), to_float(weights).unsqueeze(-1));
  result.add_(mixing ? to_float(*mixing).transpose(-1, -2).matmul(to_float(x)) : to_float(x));
  assign(out, result);
}

void post_backward(const at::Tensor& grad, const at::Tensor& x, const OptionalTensor& mixing, const at::Tensor& layer,
                   const at::Tensor& weights, at::Tensor& grad_x, at::Tensor& grad_mixing, at::Tensor& grad_layer,
                   at::Tensor& grad_weights) {
  const at::Tensor by_out = to_float(grad);
  assign(grad_x, mixing ? to_float(*mixing).matmul(by_out) : by_out);
  if (mixing) {
    assign(grad_mixing, to_float(x).matmul(by_out.transpose(-1, -2)));
  } else {
    grad_mixing.zero_();  // of a matrix that was not given
  }
  assign(grad_layer, by_out.mul(to_float(weights).unsqueeze(-1)).sum(-2));
  assign(grad_weights, by_out.mul(to_float(layer).unsqueeze(-2)).sum(-1));
}

// ---- pre: the weights of a layer from the streams themselves

struct PreOperands {
  const at::Tensor &x, &phi, &alpha, &bias;
  const OptionalTensor& gamma;
  double norm_eps, pre_eps;
};

struct PreOutputs {
  at::Tensor &in, &post, &res, &inv_rms, &mix, &pre;
};

void check(const at::Tensor& x, const at::Tensor& phi, const at::Tensor& alpha) {
  const int64_t streams = x.size(-2), width = x.size(-1);
  const bool with_res = alpha.numel() == 3;
  const int64_t rows = with_res ? streams * (streams + 2) : 2 * streams;
  require(with_res || alpha.numel() == 2, ACLNN_ERR_PARAM_INVALID, "parameter 'alpha' has ", alpha.numel(),
          " elements; it must have 3, or 2 without mixing of the streams");
  require(phi.dim() == 2 && phi.size(0) == rows && phi.size(1) == streams * width, ACLNN_ERR_PARAM_INVALID,
          "parameter 'phi' has shape ", phi.sizes(), "; it must be [", rows, ", ", streams * width, "]");
}

// Streams as one row, with their factors.
at::Tensor weighted(const at::Tensor& row, const OptionalTensor& gamma) {
  return gamma ? row.mul(to_float(*gamma).reshape(-1)) : row;
}

void pre(const PreOperands& operands, const PreOutputs& outputs) {
  const at::Tensor& x = operands.x;
  require(x.dim() >= 2, ACLNN_ERR_PARAM_INVALID, "parameter 'x' has shape ", x.sizes(), "; it must be [..., n, D]");
  check(x, operands.phi, operands.alpha);
  const int64_t streams = x.size(-2);
  const at::Tensor values = to_float(x), row = values.flatten(-2), bias = to_float(operands.bias);
  const at::Tensor inv_rms = row.square().mean(-1, true).add_(operands.norm_eps).rsqrt_();
  const at::Tensor mix = weighted(row, operands.gamma).matmul(to_float(operands.phi).t());
  const at::Tensor scaled = mix.mul(inv_rms);
  const auto part = [&](int64_t which, int64_t start, int64_t count) {
    return at::addcmul(bias.narrow(0, start, count), scaled.narrow(-1, start, count),
                       to_float(operands.alpha).select(0, which));
  };
  const at::Tensor weights = part(0, 0, streams).sigmoid_().add_(operands.pre_eps);
  assign(outputs.in, values.mul(weights.unsqueeze(-1)).sum(-2));
  assign(outputs.post, part(1, streams, streams).sigmoid_().mul_(2));
  if (operands.alpha.numel() == 3) {
    assign(outputs.res, part(2, 2 * streams, streams * streams).unflatten(-1, {streams, streams}));
  } else if (outputs.res.defined()) {
    outputs.res.zero_();
  }
  if (outputs.inv_rms.defined()) assign(outputs.inv_rms, inv_rms.squeeze(-1));
  if (outputs.mix.defined()) assign(outputs.mix, mix);
  if (outputs.pre.defined()) assign(outputs.pre, weights);
}

struct PreGradients {
  const at::Tensor &in, &post, &res;
};

struct PreSaved {
  const at::Tensor &inv_rms, &mix, &pre, &post;
};

struct PreGradientOutputs {
  at::Tensor &x, &phi, &alpha, &bias, &gamma;
};

void pre_backward(const at::Tensor& x, const at::Tensor& phi, const at::Tensor& alpha, const OptionalTensor& gamma,
                  const PreGradients& grads, const PreSaved& saved, const OptionalTensor& more, double pre_eps,
                  const PreGradientOutputs& outputs) {
  check(x, phi, alpha);
  require(alpha.numel() == 3, ACLNN_ERR_PARAM_INVALID, "parameter 'alpha' has 2 elements; the gradient needs 3");
  const int64_t streams = x.size(-2), width = streams * x.size(-1);
  const at::Tensor values = to_float(x), row = values.reshape({-1, width});
  const auto flat = [](const at::Tensor& tensor, int64_t columns) { return to_float(tensor).reshape({-1, columns}); };
  const at::Tensor by_in = to_float(grads.in), inv_rms = flat(saved.inv_rms, 1), mix = flat(saved.mix, phi.size(0));
  // Through the sigmoids.
  const at::Tensor sigmoid = flat(saved.pre, streams).sub(pre_eps), doubled = flat(saved.post, streams);
  const at::Tensor by_pre = values.mul(by_in.unsqueeze(-2)).sum(-1).reshape({-1, streams});
  const at::Tensor by_logits = at::cat(
      {by_pre.mul(sigmoid).mul_(at::rsub(sigmoid, 1)),
       flat(grads.post, streams).mul(doubled).mul_(at::rsub(doubled, 1, 0.5)), flat(grads.res, streams * streams)},
      1);
  const at::Tensor counts = at::tensor({streams, streams, streams * streams});
  const at::Tensor alphas = to_float(alpha).repeat_interleave(counts);
  const at::Tensor by_alphas = by_logits.mul(mix).mul_(inv_rms).sum(0);
  const at::Tensor by_scaled = by_logits.mul(alphas), by_mix = by_scaled.mul(inv_rms);
  // Through the product with phi and the norm.
  const at::Tensor by_weighted = by_mix.matmul(to_float(phi));
  const at::Tensor by_inv_rms = by_scaled.mul(mix).sum(1, true);
  at::Tensor by_row = weighted(by_weighted, gamma);
  by_row.sub_(row.mul(by_inv_rms.mul_(inv_rms.pow(3)).div_(static_cast<double>(width))));
  at::Tensor by_x = by_row.view(values.sizes()).add_(by_in.unsqueeze(-2).mul(to_float(saved.pre).unsqueeze(-1)));
  if (more) by_x.add_(to_float(*more).view(by_x.sizes()));
  assign(outputs.x, by_x);
  assign(outputs.phi, by_mix.t().matmul(weighted(row, gamma)));
  const std::vector<at::Tensor> parts = by_alphas.split_with_sizes({streams, streams, streams * streams});
  assign(outputs.alpha, at::stack({parts[0].sum(), parts[1].sum(), parts[2].sum()}));
  assign(outputs.bias, by_logits.sum(0));
  if (!outputs.gamma.defined()) return;
  if (gamma) {
    assign(outputs.gamma, by_weighted.mul(row).sum(0).view(outputs.gamma.sizes()));
  } else {
    outputs.gamma.zero_();
  }
}

// ---- Sinkhorn: softmax, then columns and rows are normalised in turn

constexpr int64_t kBlock = 8;  // the last dimension of what is kept for the gradient is as long as this

// Values kept after each of the 2 * iterations steps: the matrices, [steps, T, n, block], and the sums that they were
// divided by, [steps, T, block].
struct Steps {
  at::Tensor matrices, sums;
};

Steps steps_of(const at::Tensor& matrices, const at::Tensor& sums, int64_t count, int64_t streams, int64_t block) {
  const int64_t per_matrix = count * streams * block;
  require(per_matrix > 0 && matrices.numel() % per_matrix == 0 && sums.numel() * streams == matrices.numel(),
          ACLNN_ERR_PARAM_INVALID, "normOut has ", matrices.numel(), " elements and sumOut ", sums.numel(),
          "; they must have 2 * iterations * T * n * ", block, " and 2 * iterations * T * ", block,
          ", with T = ", count, ", n = ", streams);
  return {matrices.view({-1, count, streams, block}).narrow(3, 0, streams),
          sums.view({-1, count, block}).narrow(2, 0, streams)};
}

void check_square(const at::Tensor& x) {
  require(x.dim() >= 2 && x.size(-1) == x.size(-2) && x.size(-1) <= kBlock, ACLNN_ERR_PARAM_INVALID,
          "parameter 'x' has shape ", x.sizes(), "; its last two dimensions must be one number up to ", kBlock);
}

void sinkhorn(const at::Tensor& x, double eps, int64_t iterations, int64_t block, at::Tensor& out, at::Tensor& norm_out,
              at::Tensor& sum_out) {
  check_square(x);
  require(iterations >= 1 && iterations <= 100, ACLNN_ERR_PARAM_INVALID, "parameter 'numIters' is ", iterations,
          "; it must be from 1 to 100");
  const int64_t streams = x.size(-1);
  at::Tensor matrix = x.reshape({-1, streams, streams}).softmax(-1);
  const bool keeps = norm_out.defined() && sum_out.defined();
  if (keeps) {
    norm_out.zero_();
    sum_out.zero_();
  }
  const Steps steps = keeps ? steps_of(norm_out, sum_out, matrix.size(0), streams, block) : Steps{};
  require(!keeps || steps.matrices.size(0) == 2 * iterations, ACLNN_ERR_PARAM_INVALID, "normOut has room for ",
          keeps ? steps.matrices.size(0) : 0, " steps; there are ", 2 * iterations);
  if (keeps) steps.matrices.select(0, 0).copy_(matrix);  // the gradient needs the softmax without eps
  matrix.add_(eps);
  for (int64_t step = 1; step < 2 * iterations; ++step) {
    const int64_t dim = step % 2 == 1 ? 1 : 2;
    const at::Tensor sum = matrix.sum(dim, true).add_(eps);
    matrix.div_(sum);
    if (!keeps) continue;
    steps.matrices.select(0, step).copy_(matrix);
    steps.sums.select(0, step).copy_(sum.squeeze(dim));
  }
  assign(out, matrix.view(out.sizes()));
}

void sinkhorn_backward(const at::Tensor& grad, const at::Tensor& norm_out, const at::Tensor& sum_out, int64_t block,
                       at::Tensor& out) {
  check_square(grad);
  const int64_t streams = grad.size(-1);
  at::Tensor by_matrix = grad.reshape({-1, streams, streams}).clone();
  const Steps steps = steps_of(norm_out, sum_out, by_matrix.size(0), streams, block);
  for (int64_t step = steps.matrices.size(0) - 1; step > 0; --step) {
    const int64_t dim = step % 2 == 1 ? 1 : 2;
    by_matrix.sub_(by_matrix.mul(steps.matrices.select(0, step)).sum(dim, true));
    by_matrix.div_(steps.sums.select(0, step).unsqueeze(dim));
  }
  const at::Tensor softmax = steps.matrices.select(0, 0);
  assign(out, by_matrix.sub_(by_matrix.mul(softmax).sum(2, true)).mul_(softmax).view(out.sizes()));
}

// ---- pre, whose matrix goes through Sinkhorn; what is kept has no blocks

struct Iterations {
  int64_t streams, count;
  at::Tensor &matrices, &sums;
};

void pre_sinkhorn(const PreOperands& operands, const Iterations& iterations, const PreOutputs& outputs) {
  const at::Tensor& x = operands.x;
  require(x.dim() >= 2 && x.size(-2) == iterations.streams && operands.alpha.numel() == 3, ACLNN_ERR_PARAM_INVALID,
          "parameters 'x' and 'alpha' have the shapes ", x.sizes(), " and ", operands.alpha.sizes(),
          "; they must be [..., hcMult, D] with hcMult = ", iterations.streams, ", and [3]");
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = iterations.streams;
  at::Tensor logits = at::empty(shape, at::kFloat);
  at::Tensor inv_rms = outputs.inv_rms.defined() ? outputs.inv_rms.squeeze(-1) : at::Tensor();
  pre(operands, {outputs.in, outputs.post, logits, inv_rms, outputs.mix, outputs.pre});
  sinkhorn(logits, operands.pre_eps, iterations.count, iterations.streams, outputs.res, iterations.matrices,
           iterations.sums);
}

void pre_sinkhorn_backward(const at::Tensor& x, const at::Tensor& phi, const at::Tensor& alpha, const at::Tensor& bias,
                           const PreGradients& grads, const Steps& steps, const at::Tensor& inv_rms,
                           const at::Tensor& mix, const at::Tensor& weights, double eps,
                           const PreGradientOutputs& outputs) {
  check(x, phi, alpha);
  require(alpha.numel() == 3, ACLNN_ERR_PARAM_INVALID, "parameter 'alpha' has 2 elements; the gradient needs 3");
  const int64_t streams = x.size(-2);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = streams;
  at::Tensor by_logits = at::empty(shape, at::kFloat);
  sinkhorn_backward(grads.res.reshape(shape), steps.matrices, steps.sums, streams, by_logits);
  const at::Tensor scaled = mix.narrow(-1, streams, streams).mul(inv_rms);
  const at::Tensor post = at::addcmul(bias.narrow(0, streams, streams), scaled, alpha.select(0, 1)).sigmoid_().mul_(2);
  pre_backward(x, phi, alpha, kNone, {grads.in, grads.post, by_logits}, {inv_rms, mix, weights, post}, kNone, eps,
               outputs);
}

}  // namespace

#define PRE_IN (In, x)(In, phi)(In, alpha)(In, bias)(OptIn, gammaOptional)(Double, normEps)(Double, hcEps)
#define PRE_OUT (Out, hIn)(Out, hPost)(OptOut, hRes)(OptOut, invRmsOptional)(OptOut, hMixOptional)(OptOut, hPreOptional)
#define PRE                                                 \
  pre({x, phi, alpha, bias, gammaOptional, normEps, hcEps}, \
      {hIn, hPost, hRes, invRmsOptional, hMixOptional, hPreOptional})
#define PRE_BACKWARD_IN                                                                                             \
  (In, x)(In, phi)(In, alpha)(In, gradHIn)(In, gradHPost)(In, gradHRes)(In, invRms)(In, hMix)(In, hPre)(In, hPost)( \
      OptIn, gamma)(OptIn, gradXPostOptional)(Float, hcEps)
#define PRE_BACKWARD_OUT (Out, gradX)(Out, gradPhi)(Out, gradAlpha)(Out, gradBias)(OptOut, gradGamma)
#define PRE_BACKWARD                                                                                                 \
  pre_backward(x, phi, alpha, gamma, {gradHIn, gradHPost, gradHRes}, {invRms, hMix, hPre, hPost}, gradXPostOptional, \
               hcEps, {gradX, gradPhi, gradAlpha, gradBias, gradGamma})

ACLNN(MhcPost, (In, x)(OptIn, hRes)(In, hOut)(In, hPost)(Out, out), post(x, hRes, hOut, hPost, out))
ACLNN(MhcPostBackward,
      (In, gradOutput)(In, x)(OptIn, hRes)(In, hOut)(In, hPost)(Out, gradX)(Out, gradHRes)(Out, gradHOut)(Out,
                                                                                                          gradHPost),
      post_backward(gradOutput, x, hRes, hOut, hPost, gradX, gradHRes, gradHOut, gradHPost))
// opImplMode allows lower precision in matrix products; it is not used.
ACLNN(MhcPre, PRE_IN PRE_OUT, PRE)
ACLNN(MhcPreV2, PRE_IN(Int, opImplMode) PRE_OUT, PRE)
ACLNN(MhcPreBackward, PRE_BACKWARD_IN PRE_BACKWARD_OUT, PRE_BACKWARD)
ACLNN(MhcPreBackwardV2, PRE_BACKWARD_IN(Int, opImplMode) PRE_BACKWARD_OUT, PRE_BACKWARD)
ACLNN(
    MhcPreSinkhorn,
    (In, x)(In, phi)(In, alpha)(In, bias)(Int, hcMult)(Int, numIters)(Double, hcEps)(Double, normEps)(Bool,
                                                                                                      needBackward)(
        Out, hin)(Out, hPost)(Out, hRes)(OptOut, hPre)(OptOut, hcBeforeNorm)(OptOut, invRms)(OptOut, sumOut)(OptOut,
                                                                                                             normOut),
    at::Tensor none;
    const auto kept = [&](at::Tensor& output) -> at::Tensor& { return needBackward ? output : none; };
    pre_sinkhorn({x, phi, alpha, bias, kNone, normEps, hcEps}, {hcMult, numIters, kept(normOut), kept(sumOut)},
                 {hin, hPost, hRes, kept(invRms), kept(hcBeforeNorm), kept(hPre)}))
ACLNN(MhcPreSinkhornBackward,
      (In, gradHin)(In, gradHPost)(In, gradHRes)(In, x)(In, phi)(In, alpha)(In, bias)(In, hPre)(In, hcBeforeNorm)(
          In, invRms)(In, sumOut)(In, normOut)(Double, hcEps)(Out, gradX)(Out, gradPhi)(Out, gradAlpha)(Out, gradBias),
      pre_sinkhorn_backward(x, phi, alpha, bias, {gradHin, gradHPost, gradHRes}, {normOut, sumOut}, invRms,
                            hcBeforeNorm, hPre, hcEps, {gradX, gradPhi, gradAlpha, gradBias, NoTensor{}}))
ACLNN(MhcSinkhorn, (In, x)(Float, eps)(Int, numIters)(Out, output)(OptOut, normOut)(OptOut, sumOut),
      sinkhorn(x, eps, numIters, kBlock, output, normOut, sumOut))
ACLNN(MhcSinkhornBackward, (In, gradOutput)(In, normOut)(In, sumOut)(Out, out),
      sinkhorn_backward(gradOutput, normOut, sumOut, kBlock, out))

#undef PRE_IN
#undef PRE_OUT
#undef PRE
#undef PRE_BACKWARD_IN
#undef PRE_BACKWARD_OUT
#undef PRE_BACKWARD
