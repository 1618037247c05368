// native/opapi/ops/random/random.cpp
// Random numbers. torch_npu draws (seed, offset) from its generator for each call and passes them on, so the same state
// gives the same numbers. In a captured graph both live in device tensors that each replay updates.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "opapi/opapi.h"
#include "opapi/random_bits.h"

namespace {

constexpr int64_t kBytesPerTask = 4096;  // of a mask: enough work to be worth a thread

// The state of a captured graph: seed and offset in one-element tensors, plus the operator's own offset in the graph.
at::Generator generator(const at::Tensor& seed, const at::Tensor& offset, int64_t offset_in_graph) {
  return opapi::generator(seed.item<int64_t>(), offset.item<int64_t>() + offset_in_graph);
}

// CANN's documents list integers for continuous distributions too: they get numbers of float32 without their fractions.
template <class Draw>
void draw(at::Tensor& self, const Draw& numbers) {
  const at::ScalarType dtype = self.scalar_type();
  static_cast<void>(self.const_data_ptr());  // a dry run ends here, before the numbers are drawn
  into(self, at::isIntegralType(dtype, /*includeBool=*/true) ? at::kFloat : dtype, numbers);
}

void uniform(at::Tensor& self, double from, double to, const at::Generator& source) {
  require(from <= to, ACLNN_ERR_PARAM_INVALID, "from is ", from, " and to is ", to, "; allowed: from <= to");
  draw(self, [&](at::Tensor& target) { target.uniform_(from, to, source); });
}

void normal(at::Tensor& self, double mean, double std, const at::Generator& source) {
  draw(self, [&](at::Tensor& target) { target.normal_(mean, std, source); });
}

// All values of the dtype, as random_ without bounds gives them.
void random(at::Tensor& self, const at::Generator& source) { self.random_(source); }

void exponential(at::Tensor& self, int64_t count, double lambda, const at::Generator& source) {
  require(count == self.numel(), ACLNN_ERR_PARAM_INVALID, "count is ", count, ", but selfRef has ", self.numel(),
          " elements");
  self.exponential_(lambda, source);
}

// A dropout mask: one bit per element, lowest bit first, 1 with probability 1 - prob. Bits beyond `count` are 0.
void generate_mask(at::Tensor& out, int64_t count, double prob, at::Generator source) {
  require(prob >= 0 && prob <= 1, ACLNN_ERR_PARAM_INVALID, "prob is ", prob, "; it must be in [0, 1]");
  require(out.scalar_type() == at::kByte, ACLNN_ERR_PARAM_INVALID, "the mask must be uint8, but it is ",
          out.scalar_type());
  require(out.numel() * 8 >= count, ACLNN_ERR_PARAM_INVALID, "the mask has ", out.numel(), " bytes, too few for ",
          count, " elements");
  static_cast<void>(out.const_data_ptr());  // a dry run ends here, before the numbers are drawn
  const uint64_t key = source.get<at::CPUGeneratorImpl>()->random64();
  const uint64_t drop_below = static_cast<uint64_t>(std::ldexp(prob, 32));
  at::Tensor mask = at::empty({out.numel()}, at::kByte);
  uint8_t* const bytes = mask.mutable_data_ptr<uint8_t>();
  // Each number by its place: the result does not depend on the number of threads.
  at::parallel_for(0, mask.numel(), kBytesPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      unsigned byte = 0;
      for (unsigned bit = 0; bit < 8; bit += 2) {
        const uint64_t pair = random_bits(key, static_cast<uint64_t>(i) * 4 + bit / 2);
        byte |= static_cast<unsigned>((pair & 0xFFFFFFFFu) >= drop_below) << bit;
        byte |= static_cast<unsigned>((pair >> 32) >= drop_below) << (bit + 1);
      }
      const int64_t used = std::clamp<int64_t>(count - i * 8, 0, 8);
      bytes[i] = static_cast<uint8_t>(byte & ((1u << used) - 1));
    }
  });
  out.copy_(mask.view(out.sizes()));
}

int64_t product(at::IntArrayRef shape) { return c10::multiply_integers(shape); }

int64_t mask_bytes(int64_t elements) { return (elements + 127) / 128 * 16; }  // one bit each, filled up to 128

// The mask as a tensor of ones and zeros like `self`.
at::Tensor unpack_mask(const at::Tensor& mask, const at::Tensor& self) {
  const int64_t needed = mask_bytes(self.numel());
  require(mask.scalar_type() == at::kByte && mask.numel() == needed, ACLNN_ERR_PARAM_INVALID, "mask has ", mask.numel(),
          " elements of ", mask.scalar_type(), "; ", self.numel(), " elements need ", needed,
          " of uint8, one bit each");
  const at::Tensor bytes = mask.contiguous();
  const uint8_t* const source = bytes.const_data_ptr<uint8_t>();
  // Row b holds the eight values of byte b.
  at::Tensor table = at::empty({256, 8}, self.scalar_type());
  const at::Tensor byte_values = at::arange(256).unsqueeze(1);
  table.copy_(byte_values.__rshift__(at::arange(8)).bitwise_and(1));
  const size_t row = 8 * self.element_size();
  const char* const rows = static_cast<const char*>(table.const_data_ptr());
  const int64_t used = (self.numel() + 7) / 8;
  at::Tensor values = at::empty({used * 8}, self.scalar_type());
  char* const target = static_cast<char*>(values.mutable_data_ptr());
  at::parallel_for(0, used, kBytesPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::memcpy(target + i * row, rows + source[i] * row, row);
  });
  return values.narrow(0, 0, self.numel()).view(self.sizes());
}

// As on the device, the numbers of a dropout with the same seed: in place ATen composes dropout from this function, and
// otherwise torch_npu generates a mask.
void bernoulli(at::Tensor& self, double prob, const at::Generator& source) {
  require(prob >= 0 && prob <= 1, ACLNN_ERR_PARAM_INVALID, "prob is ", prob, "; it must be in [0, 1]");
  static_cast<void>(self.const_data_ptr());  // a dry run ends here, before the numbers are drawn
  at::Tensor mask = at::empty({mask_bytes(self.numel())}, at::kByte);
  generate_mask(mask, self.numel(), 1 - prob, source);
  self.copy_(unpack_mask(mask, self));
}

void apply_mask(at::Tensor& out, const at::Tensor& self, const at::Tensor& mask, double scale) {
  at::mul_out(out, self, unpack_mask(mask, self));
  out.mul_(scale);
}

// The factor by which survivors of a dropout with probability `prob` grow; nothing survives prob = 1.
double survivors_scale(double prob) { return prob == 1 ? 0 : 1 / (1 - prob); }

// A scale of 1 leaves the gradient as it is, whatever the mask has.
void dropout_backward(at::Tensor& out, const at::Tensor& grad, const at::Tensor& mask, double scale) {
  if (scale == 1) {
    assign(out, grad);
  } else {
    apply_mask(out, grad, mask, scale);
  }
}

void dropout(at::Tensor& out, at::Tensor& mask, const at::Tensor& self, const OptionalTensor& noise_shape, double prob,
             const at::Generator& source) {
  require(!noise_shape, ACLNN_ERR_PARAM_INVALID, "optionalNoiseShape is not available; pass null");
  generate_mask(mask, self.numel(), prob, source);
  apply_mask(out, self, mask, survivors_scale(prob));
}

// The mask stays as it is where every element has the same fate.
void dropout_once(at::Tensor& out, at::Tensor& mask, const at::Tensor& self, double prob, bool train,
                  const at::Generator& source) {
  require(prob >= 0 && prob <= 1, ACLNN_ERR_PARAM_INVALID, "p is ", prob, "; allowed: 0 to 1");
  require(out.sizes() == self.sizes(), ACLNN_ERR_PARAM_INVALID, "out has the shape ", out.sizes(), "; input has ",
          self.sizes());
  if (!train || prob == 0) return assign(out, self);
  if (prob == 1) return static_cast<void>(out.zero_());
  dropout(out, mask, self, std::nullopt, prob, source);
}

}  // namespace

// Each pair: seed and offset as numbers, and (…Tensor) as device tensors that are read when the operator runs.
#define STATE generator(seed, offset)
#define TENSOR_STATE generator(seedTensor, offsetTensor, offset)

ACLNN(InplaceUniform, (Out, selfRef)(Double, from)(Double, to)(UInt64, seed)(UInt64, offset),
      uniform(selfRef, from, to, STATE))
ACLNN(InplaceUniformTensor, (Out, selfRef)(Double, from)(Double, to)(In, seedTensor)(In, offsetTensor)(UInt64, offset),
      uniform(selfRef, from, to, TENSOR_STATE))
ACLNN(InplaceNormal, (Out, selfRef)(Float, mean)(Float, std)(Int, seed)(Int, offset), normal(selfRef, mean, std, STATE))
ACLNN(InplaceNormalTensor, (Out, selfRef)(Float, mean)(Float, std)(In, seedTensor)(In, offsetTensor)(Int, offset),
      normal(selfRef, mean, std, TENSOR_STATE))
ACLNN(InplaceRandom, (Out, selfRef)(Int, from)(Int, to)(Int, seed)(Int, offset), selfRef.random_(from, to, STATE))
ACLNN(InplaceRandomTensor, (Out, selfRef)(Int, from)(Int, to)(In, seedTensor)(In, offsetTensor)(Int, offset),
      selfRef.random_(from, to, TENSOR_STATE))
ACLNN(InplaceRandomWithoutFromTo, (Out, selfRef)(Int, seed)(Int, offset), random(selfRef, STATE))
ACLNN(InplaceRandomWithoutFromToTensor, (Out, selfRef)(In, seedTensor)(In, offsetTensor)(Int, offset),
      random(selfRef, TENSOR_STATE))
ACLNN(InplaceBernoulli, (Out, selfRef)(Scalar, prob)(Int, seed)(Int, offset),
      bernoulli(selfRef, prob.toDouble(), STATE))
ACLNN(Bernoulli, (In, self)(Scalar, prob)(Int, seed)(Int, offset)(Out, out),
      require(out.sizes() == self.sizes(), ACLNN_ERR_PARAM_INVALID, "out has the shape ", out.sizes(), "; self has ",
              self.sizes());
      bernoulli(out, prob.toDouble(), STATE))
ACLNN(BernoulliTensor, (In, self)(In, prob)(Int, seed)(Int, offset)(Out, out), out.bernoulli_(prob, STATE))
ACLNN(InplaceBernoulliTensor, (Out, selfRef)(In, prob)(Int, seed)(Int, offset), selfRef.bernoulli_(prob, STATE))
ACLNN(SimThreadExponential, (Ref, selfRef)(Int, count)(Double, lambda)(Int, seed)(Int, offset),
      exponential(selfRef, count, lambda, STATE))
ACLNN(StatelessExponentialTensor, (Ref, self)(In, seedTensor)(In, offsetTensor)(Int, offset)(Double, lambd),
      exponential(self, self.numel(), lambd, TENSOR_STATE))

ACLNN(NormalTensorTensor, (In, mean)(In, std)(Int, seed)(Int, offset)(Out, out), at::normal_out(out, mean, std, STATE))
ACLNN(NormalTensorFloat, (In, mean)(Float, std)(Int, seed)(Int, offset)(Out, out),
      at::normal_out(out, mean, double{std}, STATE))
ACLNN(NormalFloatTensor, (Float, mean)(In, std)(Int, seed)(Int, offset)(Out, out),
      at::normal_out(out, double{mean}, std, STATE))
ACLNN(NormalFloatFloat, (Float, mean)(Float, std)(Int, seed)(Int, offset)(Out, out), out.normal_(mean, std, STATE))

ACLNN(Multinomial, (In, self)(Int, numsamples)(Bool, replacement)(Int, seed)(Int, offset)(Out, out),
      at::multinomial_out(out, self, numsamples, replacement, STATE))
ACLNN(MultinomialTensor,
      (In, self)(Int, numsamples)(Bool, replacement)(In, seedTensor)(In, offsetTensor)(Int, offset)(Out, out),
      at::multinomial_out(out, self, numsamples, replacement, TENSOR_STATE))
ACLNN(Randperm, (Int, n)(Int, seed)(Int, offset)(Out, out), at::randperm_out(out, n, STATE))

// Dropout: a mask is generated, kept for the backward pass, and applied.
ACLNN(DropoutGenMask, (Ints, shape)(Double, prob)(Int, seed)(Int, offset)(Out, out),
      generate_mask(out, product(shape), prob, STATE))
ACLNN(DropoutGenMaskV2, (Ints, shape)(Double, prob)(Int, seed)(Int, offset)(Dtype, probDataType)(Out, out),
      generate_mask(out, product(shape), prob, STATE))
ACLNN(DropoutGenMaskV2Tensor,
      (Ints, shape)(Double, prob)(In, seedTensor)(In, offsetTensor)(Int, offset)(Dtype, probDataType)(Out, out),
      generate_mask(out, product(shape), prob, TENSOR_STATE))
ACLNN(DropoutDoMask, (In, self)(In, mask)(Double, prob)(Out, out), apply_mask(out, self, mask, survivors_scale(prob)))
ACLNN(Dropout, (In, input)(Double, p)(Bool, train)(Int, seed)(Int, offset)(Out, out)(Out, maskOut),
      dropout_once(out, maskOut, input, p, train, STATE))
ACLNN(DropoutV3, (In, input)(OptIn, optionalNoiseShape)(Double, p)(Int, seed)(Int, offset)(Out, out)(Out, maskOut),
      dropout(out, maskOut, input, optionalNoiseShape, p, STATE))
ACLNN(DropoutV3Tensor,
      (In, input)(OptIn, optionalNoiseShape)(Double,
                                             p)(In, seedTensor)(In, offsetTensor)(Int, offset)(Out, out)(Out, maskOut),
      dropout(out, maskOut, input, optionalNoiseShape, p, TENSOR_STATE))
ACLNN(DropoutBackward, (In, gradOutput)(In, mask)(Double, scale)(Out, out),
      dropout_backward(out, gradOutput, mask, scale))
ACLNN(DropoutV3Grad, (In, gradY)(In, mask)(Double, scale)(Out, gradX), apply_mask(gradX, gradY, mask, scale))

// torch_npu passes a C double here; the function takes a float and, as on the device, then sees another number.
ACLNN(MaskedScale, (In, self)(In, mask)(Float, scale)(Out, out), at::mul_out(out, self, mask).mul_(scale))

#undef STATE
#undef TENSOR_STATE
