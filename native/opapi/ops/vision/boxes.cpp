// native/opapi/ops/vision/boxes.cpp
// Overlaps of boxes [x0, y0, x1, y1].
#include "opapi/opapi.h"

namespace {

void require_boxes(const at::Tensor& boxes, const char* name) {
  require(boxes.dim() == 2 && boxes.size(1) == 4, ACLNN_ERR_PARAM_INVALID, name, " has the shape ", boxes.sizes(),
          "; allowed: [boxes, 4]");
}

// The area between two corners [..., 2]; nothing where the second lies before the first. CANN adds eps to both sides.
at::Tensor area_of(const at::Tensor& from, const at::Tensor& to, double eps) {
  return (to - from).add_(eps).clamp_min_(0).prod(-1);
}

void overlaps(const at::Tensor& boxes, const at::Tensor& others, const std::string& mode, double eps, bool aligned,
              at::Tensor& out) {
  require_boxes(boxes, "bBoxes");
  require_boxes(others, "gtBoxes");
  require(mode == "iou" || mode == "iof", ACLNN_ERR_PARAM_INVALID, "mode is '", mode, "'; allowed: iof, iou");
  require(!aligned || boxes.size(0) == others.size(0), ACLNN_ERR_PARAM_INVALID, "bBoxes has ", boxes.size(0),
          " boxes and gtBoxes ", others.size(0), "; with aligned they must have the same number");
  require(boxes.scalar_type() == others.scalar_type(), ACLNN_ERR_PARAM_INVALID, "bBoxes is ", boxes.scalar_type(),
          " and gtBoxes ", others.scalar_type(), "; allowed: one dtype for both");
  const at::Tensor first = to_float(boxes).unsqueeze(1), second = to_float(others).unsqueeze(aligned ? 1 : 0);
  const auto low = [](const at::Tensor& corners) { return corners.narrow(-1, 0, 2); };
  const auto high = [](const at::Tensor& corners) { return corners.narrow(-1, 2, 2); };
  const at::Tensor shared = area_of(at::maximum(low(first), low(second)), at::minimum(high(first), high(second)), eps);
  const at::Tensor second_area = area_of(low(second), high(second), eps);
  assign(out, shared / (mode == "iof" ? second_area : area_of(low(first), high(first), eps) + second_area - shared));
}

}  // namespace

ACLNN(Iou, (In, bBoxes)(In, gtBoxes)(Text, mode)(Float, eps)(Bool, aligned)(Out, overlap),
      overlaps(bBoxes, gtBoxes, mode, eps, aligned, overlap))
