// tests/ascendc/project/opbase.cpp
// Host code of the public operator repositories, for test_opbase.py: what the headers of opbase compute.
#include <cstdio>
#include <vector>

#include "graph/operator.h"
#include "infershape_broadcast_util.h"
#include "infershape_elewise_util.h"
#include "kernel_tiling/kernel_tiling.h"
#include "log/error_code.h"
#include "op_common/log/log.h"
#include "op_common/op_host/util/math_util.h"
#include "op_host/tiling_base_class.h"
#include "op_host/tiling_base_util.h"
#include "op_host/util/shape_util.h"
#include "platform/platform_ascendc.h"
#include "runtime/infer_shape_context.h"
#include "tiling/tiling_api.h"
#include "util/const_util.h"
#include "util/platform_util.h"

namespace {

using namespace Ops::Base;

void print_broadcast(const std::vector<gert::Shape>& shapes) {
  std::vector<const gert::Shape*> list;
  for (const gert::Shape& each : shapes) list.push_back(&each);
  gert::Shape out;
  const bool fits = BroadcastShape(list, &out);
  std::printf("%s\n", fits ? ToString(out).c_str() : "no");
}

class Tiling : public TilingBaseClass {
 public:
  explicit Tiling(gert::TilingContext* context) : TilingBaseClass(context) {}
  ge::graphStatus GetShapeAttrsInfo() override { return ge::GRAPH_SUCCESS; }
  ge::graphStatus GetPlatformInfo() override { return ge::GRAPH_SUCCESS; }
  bool IsCapable() override { return false; }
  ge::graphStatus DoOpTiling() override { return ge::GRAPH_FAILED; }
  ge::graphStatus DoLibApiTiling() override { return ge::GRAPH_FAILED; }
  uint64_t GetTilingKey() const override { return 0; }
  ge::graphStatus GetWorkspaceSize() override { return ge::GRAPH_FAILED; }
  ge::graphStatus PostTiling() override { return ge::GRAPH_FAILED; }
};

}  // namespace

int main() {
  print_broadcast({{4, 1, 3}, {5, 1}, {}});
  print_broadcast({{4, 3}, {4}});
  print_broadcast({{-1, 1}, {1, -1}, {7, 2}});
  print_broadcast({{-2}, {4}});
  gert::Shape shape{2, 3};
  std::printf("%d %d ", IsUnknownShape(shape), IsUnknownRank(shape));
  SetUnknownShape(3, shape);
  std::printf("%s %d ", ToString(shape).c_str(), IsUnknownShape(shape));
  SetUnknownRank(shape);
  std::printf("%s %d\n", ToString(shape).c_str(), IsUnknownRank(shape));
  std::printf("%s %s %s\n", ToString(ge::DT_BF16).c_str(), ToString(ge::FORMAT_ND).c_str(),
              ToString(EnsureNotScalar(gert::Shape{})).c_str());
  std::printf("%d %d %d\n", CheckAxisBounds(3, -3), CheckAxisBounds(3, 3), CheckAxisBounds(0, 0));
  alignas(gert::TilingContext) unsigned char memory[sizeof(gert::TilingContext)] = {};
  std::printf("%d %d\n", Tiling(nullptr).DoTiling() == ge::GRAPH_FAILED,
              Tiling(reinterpret_cast<gert::TilingContext*>(memory)).DoTiling() == ge::GRAPH_PARAM_INVALID);
  AscendC::SortConfig config;
  uint32_t most = 1, least = 1;
  AscendC::GetSortMaxMinTmpSize(ge::Shape({128}), ge::DT_FLOAT, ge::DT_UINT32, false, config, most, least);
  std::printf("%u %u %d %zu\n", most, least, VECTOR_INNER_ERROR, sizeof(TCubeTiling) / sizeof(int32_t));
  static_assert(sizeof(NpuArch) == sizeof(uint32_t) && static_cast<uint32_t>(NpuArch::DAV_5102) == 5102);
  OP_LOGE_FOR_INVALID_TENSORNUM("Add", "x", int64_t{51}, "[1, 50]");
  OP_LOGE_FOR_INVALID_DTYPE("Add", "x", ToString(ge::DT_INT8), "DT_FLOAT, DT_FLOAT16");
  OP_LOGE_FOR_INVALID_SHAPES_WITH_REASON("Add", "x, y", "[2], [3]", "they do not broadcast");
  std::ostringstream written;  // with no header but log.h
  written << ge::DT_BF16;
  std::puts(written.str().c_str());
  // Functions for SetCheckSupport compile, and learn at a call that nobody asks them here.
  try {
    std::printf("%d\n", ge::Operator().GetInputDesc("x").GetDataType());
  } catch (const std::logic_error& error) {
    std::puts(error.what());
  }
  return 0;
}
