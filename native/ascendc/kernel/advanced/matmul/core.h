// native/ascendc/kernel/advanced/matmul/core.h
// The inside of a Matmul object: where its matrices lie, which blocks they are cut into, and the arithmetic.
#pragma once

#include <algorithm>
#include <vector>

#include "advanced/matmul/gather.h"
#include "advanced/matmul/matrix.h"
#include "advanced/matmul/results.h"
#include "core/pipe.h"
#include "cube/use.h"

// Whether vector cores have a cube core compute for them.
#ifdef ASCENDC_CUBE_ONLY
#define OPWRIGHT_MATMUL_MIXED false
#else
#define OPWRIGHT_MATMUL_MIXED true
#endif

namespace AscendC::machine {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE, const auto& MM_CFG, class CallBack,
          Triangle triangle>
class MatmulCore {
 public:
  using SrcAT = typename A_TYPE::T;
  using SrcBT = typename B_TYPE::T;
  using DstT = typename C_TYPE::T;
  using BiasT = typename BIAS_TYPE::T;
  using L0cT = Accumulator<SrcAT>;
  static constexpr bool kMixed = OPWRIGHT_MATMUL_MIXED;

 protected:
  using Acc = L0cT;
  static constexpr bool kStatic = std::is_base_of_v<TCubeTiling, std::decay_t<decltype(MM_CFG)>>;
  static constexpr const MatmulConfig& config() {
    if constexpr (kStatic) {
      return MM_CFG.cfg;
    } else {
      return MM_CFG;
    }
  }

  template <class T>
  struct Operand {
    T* data = nullptr;
    bool global = true;
    bool turned = false;
    bool scalar = false;
    T value{};
  };
  struct Batches {
    uint32_t a, b, stride_a, stride_b, stride_c;
  };
  // One step of an iteration: a block of C, or with partial output one of its parts along K.
  struct Block {
    uint32_t row, column, rows, columns, k, depth;
  };

  void apply_constants() {
    if constexpr (kStatic) {
#define OPWRIGHT_CONSTANT(type, name) \
  if (MM_CFG.name != 0) tiling_.name = MM_CFG.name;
      OPWRIGHT_FIELDS_OF_TCubeTiling(OPWRIGHT_CONSTANT)
#undef OPWRIGHT_CONSTANT
    } else {
      constexpr const MatmulConfig& cfg = MM_CFG;
      if (cfg.basicM != 0) tiling_.baseM = static_cast<int32_t>(cfg.basicM);
      if (cfg.basicN != 0) tiling_.baseN = static_cast<int32_t>(cfg.basicN);
      if (cfg.basicK != 0) tiling_.baseK = static_cast<int32_t>(cfg.basicK);
    }
  }

  OPWRIGHT_INLINE void set_single(int m, int n, int k) {
    if (m < 0 || n < 0 || k < 0) {
      refuse("Matmul", "singleCoreM, N, K are ", m, ", ", n, ", ", k, "; allowed: 0 and more");
    }
    single_m_ = m;
    single_n_ = n;
    single_k_ = k;
    restart();
  }
  OPWRIGHT_INLINE void restart() {
    next_ = 0;
    ahead_ = false;
    gathered_a_.clear();
    gathered_b_.clear();
  }
  static constexpr bool kSparse = is_sparse<B_TYPE>;
  template <class T>
  OPWRIGHT_INLINE void set_operand(Operand<T>& operand, T* data, bool global, bool turned, bool may_turn,
                                   const char* api) {
    uses_cube<kMixed>();
    // CANN's own check of this is one of its debug builds, and its examples have 16 bits turned without saying so.
    if (turned && !may_turn && (sizeof(T) != sizeof(half) || core().checks)) {
      refuse(api, "the matrix is transposed, and its MatmulType says ISTRANS = false; set ISTRANS = true");
    }
    operand = Operand<T>{data, global, turned, false, T{}};
    restart();
  }
  template <class T>
  OPWRIGHT_INLINE void set_scalar(Operand<T>& operand, T value) {
    operand = Operand<T>{nullptr, true, false, true, value};
    restart();
  }
  OPWRIGHT_INLINE void set_bias(BiasT* data, bool global) {
    if (!config().enableSetBias) refuse("SetBias", "MatmulConfig::enableSetBias is false");
    if (tiling_.isBias == 0) refuse("SetBias", "the tiling has isBias = 0; call EnableBias(true) for it");
    bias_ = data;
    bias_global_ = global;
  }
  static OPWRIGHT_INLINE void refuse_partial_batch(bool partial) {
    if (partial) refuse("IterateBatch", "enPartialSum; supported: false");
  }

  // ---- blocks

  uint32_t base_m() const { return static_cast<uint32_t>(tiling_.baseM); }
  uint32_t base_n() const { return static_cast<uint32_t>(tiling_.baseN); }
  uint32_t blocks_m() const { return ceil_div(static_cast<uint32_t>(single_m_), base_m()); }
  uint32_t blocks_n() const { return ceil_div(static_cast<uint32_t>(single_n_), base_n()); }
  uint32_t blocks_k() const {
    const bool partial = config().isPartialOutput && tiling_.baseK > 0;
    return partial ? ceil_div(static_cast<uint32_t>(single_k_), static_cast<uint32_t>(tiling_.baseK)) : 1;
  }

  Block block(uint32_t index) const {
    const bool outer =
        config().scheduleType == ScheduleType::OUTER_PRODUCT && config().iterateOrder != IterateOrder::UNDEF;
    const bool n_first = outer ? config().iterateOrder == IterateOrder::ORDER_N : tiling_.iterateOrder != 0;
    const uint32_t part = index % blocks_k();
    const uint32_t place = index / blocks_k();
    const uint32_t m = n_first ? place / blocks_n() : place % blocks_m();
    const uint32_t n = n_first ? place % blocks_n() : place / blocks_m();
    const auto rest = [](uint32_t all, uint32_t from, uint32_t most) { return all - from < most ? all - from : most; };
    const uint32_t depth = blocks_k() == 1 ? static_cast<uint32_t>(single_k_) : static_cast<uint32_t>(tiling_.baseK);
    return {m * base_m(),
            n * base_n(),
            rest(static_cast<uint32_t>(single_m_), m * base_m(), base_m()),
            rest(static_cast<uint32_t>(single_n_), n * base_n(), base_n()),
            part * depth,
            rest(static_cast<uint32_t>(single_k_), part * depth, depth)};
  }

  bool iterate(bool add) {
    demand_ready("Iterate");
    if (base_m() == 0 || base_n() == 0) refuse("Iterate", "the tiling has baseM or baseN = 0");
    if (next_ >= blocks_m() * blocks_n() * blocks_k()) {
      next_ = 0;
      return false;
    }
    const Block now = block(next_++);
    const size_t count = size_t{now.rows} * now.columns;
    if (!add || sums_.size() != count) sums_.assign(count, Acc{});
    rows_ = now.rows;
    columns_ = now.columns;
    row_ = now.row;
    column_ = now.column;
    Instruction instruction = begin("Iterate");
    if (!add && now.k == 0)
      add_bias(instruction, "Iterate", now.column, now.columns, now.rows, sums_.data(), now.columns, 0);
    multiply_block(instruction, "Iterate", left(0, {}), right(0, {}), now, sums_.data());
    return true;
  }

  OPWRIGHT_INLINE void take_block(bool sync) {
    if (ahead_ || !sync) {
      ahead_ = true;
      if (!iterate(false)) refuse("GetTensorC", "all blocks of C were taken");
    }
    if (sums_.empty()) refuse("GetTensorC", "no block was computed; call Iterate first");
  }

  void demand_ready(const char* api) const {
    if (a_.data == nullptr && !a_.scalar) refuse(api, "no A; call SetTensorA first");
    if (b_.data == nullptr && !b_.scalar) refuse(api, "no B; call SetTensorB first");
  }

  static OPWRIGHT_INLINE Instruction begin(const char* api) {
    if (core().checks) barrier_order(kAllPipes);
    return Instruction(Pipe::kFix, api);
  }
  static OPWRIGHT_INLINE void finish() {
    if (core().checks) barrier_order(kAllPipes);
  }

  // ---- matrices

  // Where the rows of an operand lie: org sizes in global memory, those of the single shape (rows of whole 32 bytes) in
  // local memory.
  template <class T>
  Matrix<T> matrix(const Operand<T>& operand, CubeFormat format, uint32_t org_rows, uint32_t org_columns, uint32_t rows,
                   uint32_t columns) const {
    const bool fractals = format == CubeFormat::NZ;
    const uint32_t memory_rows =
        operand.global ? (operand.turned ? org_columns : org_rows) : (operand.turned ? columns : rows);
    const uint32_t memory_columns = operand.turned ? rows : columns;
    const uint32_t org_width = operand.turned ? org_rows : org_columns;
    const uint32_t stride = fractals         ? round_up(memory_rows, 16)
                            : operand.global ? org_width
                                             : round_up(memory_columns, kC0<T>);
    return {operand.data, operand.global, operand.turned, fractals, stride};
  }
  Matrix<SrcAT> left(uint32_t batch, const Batches& batches) {
    static_assert(A_TYPE::format == CubeFormat::ND || A_TYPE::format == CubeFormat::NZ ||
                      A_TYPE::format == CubeFormat::VECTOR || A_TYPE::format == CubeFormat::SCALAR,
                  "Matmul: A is in CubeFormat ND, NZ, VECTOR or SCALAR on Atlas A2");
    if constexpr (CallBack::kCopiesA) {
      demand_no_batch(batch, batches.a);
      return gather_a();
    }
    auto result = matrix(a_, A_TYPE::format, u(org_m_), u(org_ka_), u(single_m_), u(single_k_));
    const uint32_t rows = a_.turned ? u(single_k_) : u(single_m_);
    const uint32_t columns = a_.turned ? u(single_m_) : u(single_k_);
    place_batch(result, A_TYPE::layout, batch, batches.stride_a, rows, columns,
                {u(tiling_.ALayoutInfoB), u(tiling_.ALayoutInfoN), u(tiling_.ALayoutInfoG), u(tiling_.ALayoutInfoD)});
    return result;
  }
  Matrix<SrcBT> right(uint32_t batch, const Batches& batches) {
    static_assert(
        B_TYPE::format == CubeFormat::ND || B_TYPE::format == CubeFormat::NZ || B_TYPE::format == CubeFormat::SCALAR,
        "Matmul: B is in CubeFormat ND, NZ or SCALAR on Atlas A2");
    static_assert(!CallBack::kCopiesB || !kSparse, "Matmul: a sparse B is not moved by functions of the kernel");
    if constexpr (CallBack::kCopiesB) {
      demand_no_batch(batch, batches.b);
      return gather_b();
    } else if constexpr (kSparse) {
      demand_no_batch(batch, batches.b);
      return expand_b();
    }
    auto result = matrix(b_, B_TYPE::format, u(org_kb_), u(org_n_), u(single_k_), u(single_n_));
    const uint32_t rows = b_.turned ? u(single_n_) : u(single_k_);
    const uint32_t columns = b_.turned ? u(single_k_) : u(single_n_);
    place_batch(result, B_TYPE::layout, batch, batches.stride_b, rows, columns,
                {u(tiling_.BLayoutInfoB), u(tiling_.BLayoutInfoN), u(tiling_.BLayoutInfoG), u(tiling_.BLayoutInfoD)});
    return result;
  }
  static constexpr uint32_t u(int value) { return static_cast<uint32_t>(value); }

  static OPWRIGHT_INLINE void demand_no_batch(uint32_t batch, uint32_t batches) {
    if (batch != 0 || batches > 1) {
      refuse("IterateBatch", "several matrices that are sparse, or that functions of the kernel move; supported: one");
    }
  }
  // The blocks that a function of the kernel moves at a time: those of baseM x baseK or baseK x baseN, with MDL as many
  // of them as L1 holds.
  OPWRIGHT_INLINE uint32_t move_size(int base, int steps) const {
    const bool several = config().doMultiDataLoad || config().doSpecialMDL;
    const uint32_t size = u(base) * (several && steps > 0 ? u(steps) : 1);
    if (size == 0) refuse("Matmul", "the tiling has baseM, baseN or baseK = 0");
    return size;
  }
  Matrix<SrcAT> gather_a() {
    const GatherSizes sizes{u(single_m_), u(single_k_), move_size(tiling_.baseM, tiling_.stepM),
                            move_size(tiling_.baseK, tiling_.stepKa)};
    return gather<SrcAT, CallBack::kCopyA>(gathered_a_, a_.data, a_.turned, sizes, user_info_, user_data_);
  }
  Matrix<SrcBT> gather_b() {
    const GatherSizes sizes{u(single_k_), u(single_n_), move_size(tiling_.baseK, tiling_.stepKb),
                            move_size(tiling_.baseN, tiling_.stepN)};
    return gather<SrcBT, CallBack::kCopyB>(gathered_b_, b_.data, b_.turned, sizes, user_info_, user_data_);
  }
  Matrix<SrcBT> expand_b() {
    static_assert(B_TYPE::format == CubeFormat::ND, "Matmul: a sparse B is in CubeFormat ND; supported: ND");
    if (sparse_index_ == nullptr) refuse("Matmul", "B is sparse, and SetSparseIndex was not called");
    const auto stored = matrix(b_, B_TYPE::format, u(org_kb_) / 2, u(org_n_), u(single_k_) / 2, u(single_n_));
    return expand(gathered_b_, stored, sparse_index_, round_up(u(org_n_), 16), u(single_k_), u(single_n_));
  }

  // Columns of a fractal of C.
  static constexpr uint32_t c_width() {
    return sizeof(DstT) == 1 ? 32 : config().isEnableChannelSplit && std::is_same_v<DstT, float> ? 8 : 16;
  }
  // Where a block goes. One after the other: blocks of their own. Else: its place in C.
  Matrix<DstT> target(DstT* data, bool global, bool sequential) const {
    constexpr uint32_t kWhole = 32 / sizeof(DstT);
    if constexpr (C_TYPE::format == CubeFormat::NZ) {
      const uint32_t rows = sequential ? rows_ : global ? u(org_m_) : u(single_m_);
      return {data, global, false, true, round_up(rows, 16)};
    } else {
      static_assert(C_TYPE::format == CubeFormat::ND || C_TYPE::format == CubeFormat::ND_ALIGN ||
                        C_TYPE::format == CubeFormat::VECTOR,
                    "Matmul: C is in CubeFormat ND, ND_ALIGN or NZ on Atlas A2");
      const uint32_t columns = sequential ? columns_ : !global ? u(single_n_) : org_kc_ != 0 ? u(org_kc_) : u(org_n_);
      const bool whole = !global || C_TYPE::format == CubeFormat::ND_ALIGN;
      return {data, global, false, false, whole ? round_up(columns, kWhole) : columns};
    }
  }

  // ---- arithmetic

  template <class T>
  static Acc widened_scalar(T value) {
    if constexpr (std::is_same_v<T, int4b_t>) {
      return static_cast<Acc>(static_cast<int8_t>(value));
    } else {
      return widen(value);
    }
  }

  void add_bias(Instruction& instruction, const char* api, uint32_t column, uint32_t columns, uint32_t rows, Acc* sums,
                uint32_t stride, size_t offset) {
    if (bias_ == nullptr) return;
    const BiasT* from = bias_ + offset + column;
    read_row(instruction, api, "bias", from, bias_global_, columns);
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t c = 0; c < columns; ++c) sums[size_t{r} * stride + c] += static_cast<Acc>(from[c]);
    }
  }

  // Sums of a block, rows of block.columns numbers.
  void multiply_block(Instruction& instruction, const char* api, const Matrix<SrcAT>& a, const Matrix<SrcBT>& b,
                      const Block& block, Acc* sums) {
    if (block.rows == 0 || block.columns == 0 || block.depth == 0) return;
    if (!a_.scalar) touch(instruction, api, "A", a, block.row, block.k, block.rows, block.depth, false);
    if (!b_.scalar) touch(instruction, api, "B", b, block.k, block.column, block.depth, block.columns, false);
    const auto pack_rows = [&](uint32_t row, uint32_t rows, Acc* to) {
      const size_t numbers = size_t{rows} * block.depth;
      if (a_.scalar) {
        std::fill_n(to, numbers, widened_scalar(a_.value));
      } else {
        pack_left(a, block.row + row, block.k, rows, block.depth, to);
      }
      round_operands(to, numbers);
    };
    const auto pack_panels = [&](uint32_t column, uint32_t columns, Acc* to) {
      const size_t numbers = panels_size(block.depth, columns);
      if (b_.scalar) {
        std::fill_n(to, numbers, widened_scalar(b_.value));
      } else {
        pack_right(b, block.k, block.column + column, block.depth, columns, to);
      }
      round_operands(to, numbers);
    };
    multiply_packed(block.rows, block.columns, block.depth, sums, pack_rows, pack_panels);
  }
  OPWRIGHT_INLINE void round_operands(Acc* numbers, size_t count) const {
    if constexpr (std::is_same_v<SrcAT, float>) {
      if (!hf32_) return;
      for (size_t i = 0; i < count; ++i) numbers[i] = round_to_hf32(numbers[i], hf32_towards_zero_);
    } else {
      static_cast<void>(numbers);
      static_cast<void>(count);
    }
  }

  // ---- results

  void store(Instruction& instruction, const char* api, const Matrix<DstT>& c, const Part& part, const Acc* sums,
             uint32_t first_word, Update how) const {
    results_.template store<c_width(), config().enableRelu>(instruction, api, c, part, sums, first_word, how);
  }
  void put(const Matrix<DstT>& c, bool sequential, uint8_t atomic) {
    Instruction instruction = begin("GetTensorC");
    store(instruction, "GetTensorC", c, {sequential ? 0 : row_, sequential ? 0 : column_, rows_, columns_},
          sums_.data(), column_, c.global ? update_of(atomic) : Update::kSet);
    finish();
  }
  template <class T>
  void put_fractals(const LocalTensor<T>& local, bool add) {
    const uint32_t rounded = round_up(rows_, 16);
    const Region region = local_region("Iterate", "localCmatrix", local, size_t{rounded} * round_up(columns_, 16));
    Instruction instruction(Pipe::kMatrix, "Iterate");
    instruction.writes("localCmatrix", region);
    for (uint32_t r = 0; r < rows_; ++r) {
      for (uint32_t c = 0; c < columns_; ++c) {
        Acc* to = local.data() + size_t{c / 16} * rounded * 16 + size_t{r} * 16 + c % 16;
        const Acc sum = sums_[size_t{r} * columns_ + c];
        *to = add ? *to + sum : sum;
      }
    }
  }

  void iterate_all(DstT* data, bool global, bool sequential, uint8_t atomic) {
    demand_ready("IterateAll");
    if (sequential || blocks_k_partial()) {
      if (triangle != Triangle::kNone) {
        refuse("IterateAll",
               "blocks one after the other, or parts of K, with the policy of a triangle; supported: all ",
               "of a block at its place");
      }
      next_ = 0;
      DstT* to = data;
      while (iterate(false)) {
        put(target(to, global, sequential), sequential, atomic);
        if (sequential) to += size_t{base_m()} * base_n();
      }
      return;
    }
    rows_ = u(single_m_);
    columns_ = u(single_n_);
    const Matrix<DstT> c = target(data, global, false);
    const Update how = global ? update_of(atomic) : Update::kSet;
    const auto a = left(0, {});
    const auto b = right(0, {});
    if constexpr (triangle == Triangle::kNone) {
      compute_and_store("IterateAll", {0, 0, rows_, columns_, 0, u(single_k_)}, a, b, c, 0, how);
    } else {
      for (uint32_t index = 0; index < blocks_m() * blocks_n(); ++index) {
        const Block part = block(index);
        const uint32_t m = part.row / base_m();
        const uint32_t n = part.column / base_n();
        if (triangle == Triangle::kUpper ? m <= n : m >= n) {
          compute_and_store("IterateAll", part, a, b, c, 0, how);
        }
      }
    }
    restart();
  }
  bool blocks_k_partial() const { return config().isPartialOutput; }

  void compute_and_store(const char* api, const Block& all, const Matrix<SrcAT>& a, const Matrix<SrcBT>& b,
                         const Matrix<DstT>& c, size_t bias_offset, Update how) {
    constexpr uint32_t kRowsAtOnce = 256;  // bounds the memory for sums
    Instruction instruction = begin(api);
    for (uint32_t row = 0; row < all.rows; row += kRowsAtOnce) {
      Block part = all;
      part.row = all.row + row;
      part.rows = all.rows - row < kRowsAtOnce ? all.rows - row : kRowsAtOnce;
      sums_.assign(size_t{part.rows} * part.columns, Acc{});
      add_bias(instruction, api, part.column, part.columns, part.rows, sums_.data(), part.columns, bias_offset);
      multiply_block(instruction, api, a, b, part, sums_.data());
      store(instruction, api, c, {part.row, part.column, part.rows, part.columns}, sums_.data(), part.column, how);
    }
    sums_.clear();
    finish();
  }

  // ---- batches

  size_t batch_matrix_c() const { return size_t{u(single_m_)} * u(single_n_); }

  void place_c(Matrix<DstT>& c, uint32_t batch, uint32_t distance) const {
    constexpr LayoutMode kLayout = C_TYPE::layout;
    const uint32_t n = u(tiling_.CLayoutInfoN);
    const uint32_t g = u(tiling_.CLayoutInfoG);
    const uint32_t s2 = u(tiling_.CLayoutInfoS2);
    if (kLayout == LayoutMode::BSNGD || kLayout == LayoutMode::SBNGD) {
      c.stride = (kLayout == LayoutMode::SBNGD ? u(tiling_.CLayoutInfoB) : 1) * n * g * s2;
      c.data += size_t{batch} * s2;
    } else if (kLayout == LayoutMode::BNGS1S2) {
      c.stride = s2;
      c.data += size_t{batch} * u(tiling_.CLayoutInfoS1) * s2;
    } else {
      const size_t size =
          c.fractals ? size_t{c.stride} * round_up(u(single_n_), c_width()) : size_t{u(single_m_)} * c.stride;
      c.data += size_t{batch} * (distance != 0 ? distance : size);
    }
  }

  void iterate_batch(DstT* data, bool global, const Batches& batches, bool sequential, uint8_t atomic, uint32_t loop) {
    demand_ready("IterateBatch");
    static_cast<void>(sequential);  // a batch's C is written as a whole
    const uint32_t count = batches.a > batches.b ? batches.a : batches.b;
    const uint32_t fewer = batches.a > batches.b ? batches.b : batches.a;
    if (fewer == 0 || count % fewer != 0) {
      refuse("IterateBatch", "batchA is ", batches.a, " and batchB ", batches.b,
             "; allowed: one a multiple of the other");
    }
    if (C_TYPE::layout != LayoutMode::NONE && C_TYPE::layout != LayoutMode::NORMAL && tiling_.CLayoutInfoG == 1 &&
        (tiling_.ALayoutInfoG > 1 || tiling_.BLayoutInfoG > 1)) {
      refuse("IterateBatch", "C has G = 1 and A or B more, a sum over G; supported: as many as A and B");
    }
    rows_ = u(single_m_);
    columns_ = u(single_n_);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t batch = loop * count + i;
      Matrix<DstT> c = target(data, global, false);
      place_c(c, batch, batches.stride_c);
      const Block all{0, 0, rows_, columns_, 0, u(single_k_)};
      const size_t bias_offset = config().isBiasBatch ? size_t{batch} * columns_ : 0;
      compute_and_store("IterateBatch", all, left(loop * batches.a + i / (count / batches.a), batches),
                        right(loop * batches.b + i / (count / batches.b), batches), c, bias_offset,
                        global ? update_of(atomic) : Update::kSet);
    }
    restart();
  }

  TCubeTiling tiling_{};
  int org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0, org_kc_ = 0;
  int single_m_ = 0, single_n_ = 0, single_k_ = 0;
  Operand<SrcAT> a_;
  Operand<SrcBT> b_;
  std::vector<SrcAT> gathered_a_;
  std::vector<SrcBT> gathered_b_;
  const uint8_t* sparse_index_ = nullptr;
  uint64_t user_info_ = 0, user_data_ = 0;
  const BiasT* bias_ = nullptr;
  bool bias_global_ = true;
  Results<DstT, Acc> results_;
  bool hf32_ = false;
  bool hf32_towards_zero_ = false;
  uint8_t sub_block_ = 0;
  DstT* workspace_ = nullptr;
  uint32_t batch_a_ = 0, batch_b_ = 0, taken_batches_ = 0;
  // The block that Iterate computed last, and the one that comes next.
  uint32_t next_ = 0;
  bool ahead_ = false;
  uint32_t row_ = 0, column_ = 0, rows_ = 0, columns_ = 0;
  std::vector<Acc> sums_;
};

}  // namespace AscendC::machine
