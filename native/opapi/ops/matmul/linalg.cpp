// native/opapi/ops/matmul/linalg.cpp
// Decompositions, solvers, determinants, distances, outer products, renormalisation.
#include <limits>

#include "opapi/ops/common/precision.h"

namespace {

const char* qr_mode(int64_t code) {
  static constexpr const char* kModes[] = {"reduced", "complete", "r"};
  require(code >= 0 && code < 3, ACLNN_ERR_PARAM_INVALID, "mode is ", code,
          "; allowed: 0 (reduced), 1 (complete), 2 (r)");
  return kModes[code];
}

// v, not its conjugate transpose. Without computeUV u and v are not written.
void svd(const at::Tensor& input, bool full_matrices, bool compute_uv, at::Tensor& sigma, at::Tensor& u,
         at::Tensor& v) {
  const auto [left, values, right] = at::_linalg_svd(input, full_matrices, compute_uv);
  assign(sigma, values);
  if (!compute_uv) return;
  assign(u, left);
  assign(v, right.mH());
}

void triangular_solve(const at::Tensor& self, const at::Tensor& a, bool upper, bool transpose, bool unitriangular,
                      at::Tensor& x, at::Tensor& m) {
  assign(x,
         at::linalg_solve_triangular(transpose ? a.mT() : a, self, upper != transpose, /*left=*/true, unitriangular));
  assign(m, a.expand(m.sizes()));
}

// Callers of the backward pass write infinity as -1.
double norm_order(float p) { return p < 0 ? std::numeric_limits<double>::infinity() : p; }

// CANN takes p = 0, the number of elements that are not zero, which ATen's renorm refuses.
void renorm(const at::Tensor& self, const at::Scalar& p, int64_t dim, const at::Scalar& max_norm, at::Tensor& out) {
  if (p.toDouble() != 0) {
    at::renorm_out(out, self, p, dim, max_norm);
    return;
  }
  require(max_norm.toDouble() >= 0, ACLNN_ERR_PARAM_INVALID, "maxNorm is ", max_norm.toDouble(),
          "; allowed: 0 and more");
  require(self.dim() > 1, ACLNN_ERR_PARAM_INVALID, "parameter 'self' has shape ", self.sizes(),
          "; allowed: 2 dimensions and more");
  at::DimVector others;
  const int64_t kept = at::maybe_wrap_dim(dim, self.dim());
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != kept) others.push_back(i);
  }
  constexpr double kEpsilon = 1e-7;  // ATen's, for other p
  const at::Tensor norms = at::sum(self.ne(0), others, /*keepdim=*/true, self.scalar_type());
  const at::Tensor factors =
      at::where(norms.gt(max_norm), at::mul(at::reciprocal(at::add(norms, kEpsilon)), max_norm), 1.0);
  at::mul_out(out, self, factors);
}

}  // namespace

ACLNN(Inverse, (In, self)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { at::linalg_inv_out(target, widened(self)); }))
ACLNN(LinalgCholesky, (In, self)(Bool, upper)(Out, out), at::linalg_cholesky_out(out, self, upper))
ACLNN(LinalgCross, (In, self)(In, other)(Int, dim)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { at::linalg_cross_out(target, widened(self), widened(other), dim); }))
ACLNN(LinalgQr, (In, self)(Int, mode)(Out, Q)(Out, R), assign(Q, R, at::linalg_qr(self, qr_mode(mode))))
ACLNN(Slogdet, (In, self)(Out, signOut)(Out, logOut), assign(signOut, logOut, at::linalg_slogdet(self)))
ACLNN(Ger, (In, self)(In, vec2)(Out, out), at::outer_out(out, self, vec2))
ACLNN(Logdet, (In, self)(Out, out), assign(out, at::logdet(self)))
ACLNN(Qr, (In, self)(Bool, some)(Out, Q)(Out, R), assign(Q, R, at::linalg_qr(self, some ? "reduced" : "complete")))
ACLNN(Svd, (In, input)(Bool, fullMatrices)(Bool, computeUV)(Out, sigma)(OptOut, u)(OptOut, v),
      svd(input, fullMatrices, computeUV, sigma, u, v))
ACLNN(TriangularSolve, (In, self)(In, A)(Bool, upper)(Bool, transpose)(Bool, unitriangular)(Out, xOut)(Out, mOut),
      triangular_solve(self, A, upper, transpose, unitriangular, xOut, mOut))

ACLNN(Cdist, (In, x1)(In, x2)(Float, p)(Int, compute_mode)(Out, out),
      assign(out, at::_cdist_forward(widened(x1), widened(x2), p, compute_mode)))
ACLNN(CdistBackward, (In, grad)(In, x1)(In, x2)(In, cdist)(Float, p)(Out, out),
      assign(out,
             at::_cdist_backward(widened(grad).contiguous(), widened(x1), widened(x2), norm_order(p), widened(cdist))))
ACLNN(PdistForward, (In, self)(Scalar, pScalar)(Out, out),
      assign(out, at::_pdist_forward(self.contiguous(), pScalar.toDouble())))
ACLNN(Pdist, (In, self)(Float, p)(Out, out), assign(out, at::_pdist_forward(self.contiguous(), p)))
ACLNN(Renorm, (In, self)(Scalar, p)(Int, dim)(Scalar, maxNorm)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { renorm(widened(self), p, dim, maxNorm, target); }))
ACLNN(InplaceRenorm, (Ref, selfRef)(Scalar, p)(Int, dim)(Scalar, maxNorm),
      rounded_once(selfRef, [&](at::Tensor& target) { renorm(widened(selfRef), p, dim, maxNorm, target); }))
