// native/opapi/ops/matmul/matmul.cpp
// Products of matrices and vectors. cubeMathType (a hint for the matrix unit) has no meaning here; the WeightNz
// siblings are the same functions for a weight that is stored in blocks, which arrives as the matrix that it is.
#include <ATen/ops/addbmm.h>
#include <ATen/ops/addmv.h>
#include <ATen/ops/addr.h>
#include <ATen/ops/baddbmm.h>

#include "opapi/ops/common/precision.h"

namespace {

// The dtypes may differ (half-precision factors, float output): the product is computed in their common dtype, that of
// float16 in float32.
at::ScalarType common_dtype(const at::Tensor& out, std::initializer_list<const at::Tensor*> operands) {
  at::ScalarType dtype = out.scalar_type();
  for (const at::Tensor* operand : operands) dtype = at::promote_types(dtype, operand->scalar_type());
  return product_dtype(dtype);
}

std::vector<int64_t> concat(at::IntArrayRef head, std::initializer_list<int64_t> tail) {
  std::vector<int64_t> result = head.vec();
  result.insert(result.end(), tail);
  return result;
}

// matmul into a contiguous output. ATen's out= form would resize an output that it sees folded.
void multiply_matrices(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
  const int64_t inner = self.size(-1);
  if (other.dim() == 2) {
    at::Tensor folded = out.view({-1, other.size(1)});
    at::mm_out(folded, self.reshape({-1, inner}), other);
    return;
  }
  const at::IntArrayRef batch = out.sizes().slice(0, out.dim() - 2);
  const int64_t rows = self.size(-2);
  const int64_t columns = other.size(-1);
  const auto folded = [&](const at::Tensor& operand, int64_t height, int64_t width) {
    return operand.expand(concat(batch, {height, width})).reshape({-1, height, width});
  };
  at::Tensor product = out.view({-1, rows, columns});
  at::bmm_out(product, folded(self, rows, inner), folded(other, inner, columns));
}

void multiply(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
  const at::ScalarType dtype = common_dtype(out, {&self, &other});
  if (self.dim() == 2 && other.dim() == 2) {
    into(out, dtype, [&](at::Tensor& target) { at::mm_out(target, self.to(dtype), other.to(dtype)); });
    return;
  }
  const bool matrices = self.dim() >= 2 && other.dim() >= 2 && out.dim() == std::max(self.dim(), other.dim());
  const bool direct = matrices && out.is_contiguous() && out.scalar_type() == dtype && out.numel() > 0 &&
                      self.numel() > 0 && out.size(-2) == self.size(-2) && out.size(-1) == other.size(-1);
  if (direct) {
    multiply_matrices(out, self.to(dtype), other.to(dtype));
  } else {
    assign(out, at::matmul(self.to(dtype), other.to(dtype)));
  }
}

struct Axes {
  at::IntArrayRef x1, x2, y;
};

// Batches of products, permuted before and after. `groups` of more than one put the columns of all batches side by side
// and cut them: [groups, rows, columns of all batches / groups].
void multiply_permuted(at::Tensor& out, const at::Tensor& x1, const at::Tensor& x2, const OptionalTensor& bias,
                       const OptionalTensor& scale, const Axes& axes, int64_t groups) {
  require(!scale, ACLNN_ERR_PARAM_INVALID, "parameter 'scale', which makes the result int8, is not available");
  const at::ScalarType dtype = common_dtype(out, {&x1, &x2});
  at::Tensor product = at::bmm(x1.permute(axes.x1).to(dtype), x2.permute(axes.x2).to(dtype));
  if (bias) product = product + *bias;
  if (groups <= 1) {
    assign(out, product.permute(axes.y));
    return;
  }
  const int64_t columns = product.size(0) * product.size(2);
  require(columns % groups == 0, ACLNN_ERR_PARAM_INVALID, "batchSplitFactor is ", groups,
          "; it must divide the columns of all batches, ", columns);
  const at::Tensor rows = product.transpose(0, 1).reshape({product.size(1), groups, columns / groups});
  assign(out, rows.transpose(0, 1));
}

void dot(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  require(!self.is_complex(), ACLNN_ERR_PARAM_INVALID,
          "complex numbers: torch's dot and vdot both arrive here, and only "
          "one of them conjugates");
  require(self.dim() == 1 && other.dim() == 1 && self.numel() == other.numel(), ACLNN_ERR_PARAM_INVALID,
          "self and tensor have shapes ", self.sizes(), " and ", other.sizes(),
          "; allowed: two vectors of the same length");
  assign(out, at::dot(for_product(self), for_product(other)));
}

using AddProduct = at::Tensor& (*)(at::Tensor& out, const at::Tensor& self, const at::Tensor& first,
                                   const at::Tensor& second, const at::Scalar& beta, const at::Scalar& alpha);

void add_product(AddProduct function, at::Tensor& out, const at::Tensor& self, const at::Tensor& first,
                 const at::Tensor& second, const at::Scalar& beta, const at::Scalar& alpha) {
  const at::ScalarType dtype = common_dtype(out, {&self, &first, &second});
  into(out, dtype,
       [&](at::Tensor& target) { function(target, self.to(dtype), first.to(dtype), second.to(dtype), beta, alpha); });
}

// The device looks the equation up; it has no others.
void einsum(at::Tensor& out, const std::vector<at::Tensor>& tensors, const std::string& equation) {
  require(equation == "abcd,abced->abce" || equation == "a,b->ab", ACLNN_ERR_PARAM_INVALID, "equation is '", equation,
          "'; allowed: 'abcd,abced->abce', 'a,b->ab'");
  require(tensors.size() == 2, ACLNN_ERR_PARAM_INVALID, "tensors has ", tensors.size(), " tensors; allowed: 2");
  const at::Tensor &first = tensors[0], &second = tensors[1];
  if (equation == "a,b->ab") {
    require(first.dim() == 1 && second.dim() == 1, ACLNN_ERR_PARAM_INVALID, "tensors have shapes ", first.sizes(),
            " and ", second.sizes(), "; 'a,b->ab' needs two vectors");
    assign(out, first.unsqueeze(1) * second);
    return;
  }
  require(first.dim() == 4 && second.dim() == 5, ACLNN_ERR_PARAM_INVALID, "tensors have shapes ", first.sizes(),
          " and ", second.sizes(), "; 'abcd,abced->abce' needs 4 and 5 dimensions");
  const at::ScalarType dtype = common_dtype(out, {&first, &second});
  assign(out, at::matmul(second.to(dtype), first.to(dtype).unsqueeze(-1)).squeeze(-1));
}

at::Tensor transposed_if(int64_t wanted, const at::Tensor& matrix) { return wanted != 0 ? matrix.t() : matrix; }

}  // namespace

#define PRODUCT(NAME, SECOND) \
  ACLNN(NAME, (In, self)(In, SECOND)(Out, out)(MathType, cubeMathType), multiply(out, self, SECOND))
PRODUCT(Mm, mat2)
PRODUCT(Matmul, mat2)
PRODUCT(MatmulWeightNz, mat2)
PRODUCT(BatchMatMul, mat2)
PRODUCT(BatchMatMulWeightNz, mat2)
PRODUCT(Mv, vec)

#define PERMUTED_PRODUCT(NAME)                                                                                        \
  ACLNN(NAME,                                                                                                         \
        (In, x1)(In, x2)(OptIn, bias)(OptIn, scale)(Ints, permX1)(Ints, permX2)(Ints, permY)(MathType, cubeMathType)( \
            Int32, batchSplitFactor)(Out, out),                                                                       \
        multiply_permuted(out, x1, x2, bias, scale, {permX1, permX2, permY}, batchSplitFactor))
PERMUTED_PRODUCT(TransposeBatchMatMul)
PERMUTED_PRODUCT(TransposeBatchMatMulWeightNz)

ACLNN(Dot, (In, self)(In, tensor)(Out, out), dot(self, tensor, out))

#define ADD_PRODUCT(NAME, FUNCTION, FIRST, SECOND)                                                              \
  ACLNN(NAME, (In, self)(In, FIRST)(In, SECOND)(Scalar, beta)(Scalar, alpha)(Out, out)(MathType, cubeMathType), \
        add_product(at::FUNCTION##_out, out, self, FIRST, SECOND, beta, alpha))
ADD_PRODUCT(Addmm, addmm, mat1, mat2)
ADD_PRODUCT(AddmmWeightNz, addmm, mat1, mat2)
// ATen's half precision rounds after each batch.
ACLNN(Addbmm, (In, self)(In, batch1)(In, batch2)(Scalar, beta)(Scalar, alpha)(Out, out)(MathType, cubeMathType),
      add_product(at::addbmm_out, out, widened(self), widened(batch1), widened(batch2), beta, alpha))
ADD_PRODUCT(Baddbmm, baddbmm, batch1, batch2)
ACLNN(InplaceAddmm, (Ref, selfRef)(In, mat1)(In, mat2)(Scalar, beta)(Scalar, alpha)(MathType, cubeMathType),
      add_product(at::addmm_out, selfRef, selfRef, mat1, mat2, beta, alpha))
ACLNN(InplaceAddbmm, (Ref, selfRef)(In, batch1)(In, batch2)(Scalar, beta)(Scalar, alpha)(MathType, cubeMathType),
      add_product(at::addbmm_out, selfRef, widened(selfRef), widened(batch1), widened(batch2), beta, alpha))
ACLNN(InplaceBaddbmm, (Ref, selfRef)(In, batch1)(In, batch2)(Scalar, beta)(Scalar, alpha)(MathType, cubeMathType),
      add_product(at::baddbmm_out, selfRef, selfRef, batch1, batch2, beta, alpha))
ACLNN(Gemm,
      (In, A)(In, B)(In, C)(Float, alpha)(Float, beta)(Int, transA)(Int, transB)(Out, out)(MathType, cubeMathType),
      add_product(at::addmm_out, out, C, transposed_if(transA, A), transposed_if(transB, B), double{beta},
                  double{alpha}))
ACLNN(Einsum, (TensorList, tensors)(Text, equation)(Out, output), einsum(output, tensors, equation))
// alpha stands before beta here.
ACLNN(Addmv, (In, self)(In, mat)(In, vec)(Scalar, alpha)(Scalar, beta)(Out, out)(MathType, cubeMathType),
      add_product(at::addmv_out, out, self, mat, vec, beta, alpha))
ACLNN(Addr, (In, self)(In, vec1)(In, vec2)(OptScalar, betaOptional)(OptScalar, alphaOptional)(Out, out),
      add_product(at::addr_out, out, widened(self), widened(vec1), widened(vec2), betaOptional.value_or(1),
                  alphaOptional.value_or(1)))
ACLNN(InplaceAddr, (Ref, selfRef)(In, vec1)(In, vec2)(OptScalar, betaOptional)(OptScalar, alphaOptional),
      add_product(at::addr_out, selfRef, widened(selfRef), widened(vec1), widened(vec2), betaOptional.value_or(1),
                  alphaOptional.value_or(1)))

#undef PRODUCT
#undef PERMUTED_PRODUCT
#undef ADD_PRODUCT
