// native/opapi/ops/vision/signal.cpp
// Signal transforms.
#include "opapi/opapi.h"

namespace {

const char* norm_name(int64_t norm) {
  switch (norm) {
    case 1:
      return "backward";
    case 2:
      return "forward";
    case 3:
      return "ortho";
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "norm is ", norm, "; allowed: 1 (backward), 2 (forward), 3 (ortho)");
  }
}

void stft(at::Tensor& out, const at::Tensor& self, const std::optional<at::Tensor>& window, int64_t n_fft, int64_t hop,
          int64_t win_length, bool normalized, bool onesided, bool return_complex) {
  const at::Tensor spectrum = at::stft(self, n_fft, hop, win_length, window, normalized, onesided, true);
  assign(out, return_complex ? spectrum : at::view_as_real(spectrum));
}

}  // namespace

// The last dimension of `out` holds the real and the imaginary part.
OPWRIGHT_FUNCTION(aclRfft1D, (In, self)(Int, n)(Int, dim)(Int, norm)(Out, out),
                  assign(out, at::view_as_real(at::fft_rfft(self, n, dim, norm_name(norm)))))
OPWRIGHT_FUNCTION(aclStft,
                  (In, self)(OptIn, window)(Out, out)(Int, nFft)(Int, hopLength)(Int32, winLength)(Bool, normalized)(
                      Bool, onesided)(Bool, returnComplex),
                  stft(out, self, window, nFft, hopLength, winLength, normalized, onesided, returnComplex))
