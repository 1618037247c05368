// A program of test_host_tiling.py: reads the shape of a product, prints how it is tiled.
#include <cstdio>
#include <cstdlib>

#include "tiling/tiling_api.h"

namespace optiling {

BEGIN_TILING_DATA_DEF(Nested)
TILING_DATA_FIELD_DEF(uint32_t, first);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);
TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
END_TILING_DATA_DEF;

}  // namespace optiling

namespace {

// Tiling functions use containers that come with the headers of tiling.
static_assert(sizeof(std::unordered_map<int, std::map<int, int>>) > 0);

template <class Tiling>
int print_cube(int64_t result, const Tiling& t) {
  std::printf("%lld %d %d %d %d %d %d %d %d %d %d %d\n", static_cast<long long>(result), t.usedCoreNum, t.singleCoreM,
              t.singleCoreN, t.singleCoreK, t.baseM, t.baseN, t.baseK, t.depthA1, t.depthB1, t.dbL0A, t.isBias);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int m = std::atoi(argv[1]);
  const int n = std::atoi(argv[2]);
  const int k = std::atoi(argv[3]);
  matmul_tiling::MultiCoreMatmulTiling tiling;
  tiling.SetDim(std::atoi(argv[4]));
  using matmul_tiling::CubeFormat;
  using matmul_tiling::TPosition;
  const auto type = static_cast<matmul_tiling::DataType>(std::atoi(argv[5]));
  tiling.SetAType(TPosition::GM, CubeFormat::ND, type);
  tiling.SetBType(TPosition::GM, CubeFormat::ND, type);
  tiling.SetCType(TPosition::GM, CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
  tiling.SetShape(m, n, k);
  tiling.SetOrgShape(m, n, k);
  tiling.EnableBias(true);
  AscendC::tiling::TCubeTiling plain;
  const int64_t result = tiling.GetTiling(plain);
  // The class holds the same, nested as in a kernel's structure.
  optiling::Nested nested;
  if (tiling.GetTiling(nested.cube) != result) return 3;
  AscendC::SoftMaxTilingFunc(ge::Shape({4, 8, 64}), sizeof(float), 4096, nested.softmax);
  struct Kernel {
    uint32_t first;
    AscendC::tiling::TCubeTiling cube;
    AscendC::tiling::SoftMaxTiling softmax;
  } seen;
  if (nested.GetDataSize() != sizeof seen) return 4;
  nested.SaveToBuffer(&seen, sizeof seen);
  if (seen.cube.baseM != plain.baseM || seen.softmax.srcM != 32 || seen.softmax.srcK != 64) return 5;
  uint32_t most = 0;
  uint32_t least = 0;
  AscendC::GetErfMaxMinTmpSize(ge::Shape({8, 64}), sizeof(float), false, most, least);
  if (least == 0 || most < least) return 6;
  return print_cube(result, plain);
}
