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
      assign(out, at::_cdist_forward(x1, x2, p, compute_mode)))
ACLNN(CdistBackward, (In, grad)(In, x1)(In, x2)(In, cdist)(Float, p)(Out, out),
      assign(out, at::_cdist_backward(grad.contiguous(), x1, x2, norm_order(p), cdist)))
ACLNN(PdistForward, (In, self)(Scalar, pScalar)(Out, out),
      assign(out, at::_pdist_forward(self.contiguous(), pScalar.toDouble())))
ACLNN(Pdist, (In, self)(Float, p)(Out, out), assign(out, at::_pdist_forward(self.contiguous(), p)))
ACLNN(Renorm, (In, self)(Scalar, p)(Int, dim)(Scalar, maxNorm)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { at::renorm_out(target, widened(self), p, dim, maxNorm); }))
ACLNN(InplaceRenorm, (Ref, selfRef)(Scalar, p)(Int, dim)(Scalar, maxNorm), selfRef.renorm_(p, dim, maxNorm))
