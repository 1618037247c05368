// native/opapi/ops/vision/boxes.cpp
// Overlaps of boxes [x0, y0, x1, y1], and the choice of boxes that overlap little.
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

// As CANN writes it: corners on a diagonal, or centre, width and height.
at::Tensor corners_of(const at::Tensor& boxes, bool by_centre) {
  const at::Tensor first = boxes.narrow(-1, 0, 2), second = boxes.narrow(-1, 2, 2);
  return by_centre ? at::cat({first - second / 2, first + second / 2}, -1) : boxes;
}

// The boxes of one class in the order of their scores, without those that overlap one before them by more than
// `threshold`; at most `most`.
std::vector<int64_t> little_overlapping(const at::Tensor& corners, const at::Tensor& scores, double threshold,
                                        int64_t most) {
  const at::Tensor order = at::argsort(scores, /*stable=*/true, 0, /*descending=*/true);
  const at::Tensor sorted = corners.index_select(0, order);
  const at::Tensor low = sorted.narrow(1, 0, 2), high = sorted.narrow(1, 2, 2), area = (high - low).prod(-1);
  at::Tensor left = at::ones({order.numel()}, at::kBool);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < order.numel() && static_cast<int64_t>(chosen.size()) < most; ++i) {
    if (!left[i].item<bool>()) continue;
    chosen.push_back(order[i].item<int64_t>());
    const at::Tensor shared = area_of(at::maximum(low, low[i]), at::minimum(high, high[i]), 0);
    left.logical_and_(shared <= (area + area[i]).mul_(threshold / (1 + threshold)));
  }
  return chosen;
}

struct Suppression {
  int64_t most;
  double overlap, score;
  bool by_centre;
};

// Rows of image, class and box: as many for each class as it may have, -1 where it has fewer.
void suppress(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& options, at::Tensor& out) {
  require(boxes.dim() == 3 && scores.dim() == 3 && boxes.size(2) == 4 && boxes.size(0) == scores.size(0) &&
              boxes.size(1) == scores.size(2),
          ACLNN_ERR_PARAM_INVALID, "boxes and scores have the shapes ", boxes.sizes(), " and ", scores.sizes(),
          "; they must be [images, boxes, 4] and [images, classes, boxes]");
  const int64_t images = scores.size(0), classes = scores.size(1);
  require(options.most >= 0 && options.most <= 700, ACLNN_ERR_PARAM_INVALID, "maxOutputBoxesPerClass is ", options.most,
          "; allowed: 0 to 700");
  const std::vector<int64_t> shape{images * classes * options.most, 3};
  require(out.sizes() == at::IntArrayRef(shape), ACLNN_ERR_PARAM_INVALID, "selectedIndices has the shape ", out.sizes(),
          "; it must be ", at::IntArrayRef(shape));
  at::Tensor result = at::full({images, classes, options.most, 3}, -1, at::kLong);
  auto rows = result.accessor<int64_t, 4>();
  const at::Tensor corners = corners_of(to_float(boxes), options.by_centre), values = to_float(scores).contiguous();
  const auto score = values.accessor<float, 3>();
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t of = 0; of < classes; ++of) {
      const std::vector<int64_t> chosen =
          little_overlapping(corners[image], values[image][of], options.overlap, options.most);
      for (size_t i = 0; i < chosen.size(); ++i) {
        if (score[image][of][chosen[i]] <= options.score) continue;
        auto row = rows[image][of][static_cast<int64_t>(i)];
        row[0] = image;
        row[1] = of;
        row[2] = chosen[i];
      }
    }
  }
  assign(out, result.view(shape));
}

// The first number of an array that CANN allows to be left out.
template <class Array>
double first_of(const Array& array, double otherwise) {
  return array.empty() ? otherwise : static_cast<double>(array[0]);
}

}  // namespace

ACLNN(Iou, (In, bBoxes)(In, gtBoxes)(Text, mode)(Float, eps)(Bool, aligned)(Out, overlap),
      overlaps(bBoxes, gtBoxes, mode, eps, aligned, overlap))
ACLNN(NonMaxSuppression,
      (In, boxes)(In, scores)(OptInts, maxOutputBoxesPerClass)(Floats, iouThreshold)(Floats, scoreThreshold)(
          Int32, centerPointBox)(Out, selectedIndices),
      require(centerPointBox == 0 || centerPointBox == 1, ACLNN_ERR_PARAM_INVALID, "centerPointBox is ", centerPointBox,
              "; allowed: 0, 1");
      suppress(boxes, scores,
               {maxOutputBoxesPerClass && !maxOutputBoxesPerClass->empty() ? maxOutputBoxesPerClass->front() : 0,
                first_of(iouThreshold, 0), first_of(scoreThreshold, 0), centerPointBox == 1},
               selectedIndices))
