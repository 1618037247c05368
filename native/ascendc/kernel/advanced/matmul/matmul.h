// native/ascendc/kernel/advanced/matmul/matmul.h
// Matmul: C = A * B + bias for the part of the matrices that one core computes, in blocks of baseM x baseN.
//
// The core that calls computes: in a mixed kernel that is the vector core, which on the device has the cube core do it.
// Blocks come in the documented order, and a block's sums over K are complete, so that it does not matter when the
// hardware would compute them. All that Matmul reads and writes is ordered against the core's other pipes.
#pragma once

#include <type_traits>

#include "advanced/matmul/core.h"

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto& = MM_CFG, typename...> class MATMUL_POLICY = MatmulPolicy>
class MatmulImpl
    : private machine::MatmulCore<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY<MM_CFG>::kTriangle> {
  using Core = machine::MatmulCore<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY<MM_CFG>::kTriangle>;

 public:
  using AType = A_TYPE;
  using BType = B_TYPE;
  using CType = C_TYPE;
  using BiasType = BIAS_TYPE;
  using SrcT = typename A_TYPE::T;
  using SrcAT = typename Core::SrcAT;
  using SrcBT = typename Core::SrcBT;
  using DstT = typename Core::DstT;
  using BiasT = typename Core::BiasT;
  using L0cT = typename Core::L0cT;
  using Core::kMixed;

  static_assert(!MM_CB::kCopiesOut,
                "Matmul: a function of the kernel that moves C is not supported, see docs/ascend_c_instructions.md");
  static_assert(std::is_same_v<machine::Accumulator<SrcAT>, machine::Accumulator<SrcBT>>,
                "Matmul: A and B are both integers or both floating-point numbers on Atlas A2");

  OPWRIGHT_INLINE MatmulImpl() = default;

  // ---- what to compute

  OPWRIGHT_INLINE void Init(const TCubeTiling* cubeTiling, TPipe* = nullptr) {
    const TCubeTiling* from = machine::host_address(cubeTiling);
    if (from != nullptr) tiling_ = *from;
    apply_constants();
    org_m_ = tiling_.M;
    org_n_ = tiling_.N;
    org_ka_ = tiling_.Ka;
    org_kb_ = tiling_.Kb;
    org_kc_ = 0;
    batch_a_ = batch_b_ = 0;
    set_single(tiling_.singleCoreM, tiling_.singleCoreN, tiling_.singleCoreK);
  }
  OPWRIGHT_INLINE void SetOrgShape(int orgM, int orgN, int orgK) { SetOrgShape(orgM, orgN, orgK, orgK); }
  OPWRIGHT_INLINE void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0) {
    org_m_ = orgM;
    org_n_ = orgN;
    org_ka_ = orgKa;
    org_kb_ = orgKb;
    org_kc_ = orgKc;
  }
  OPWRIGHT_INLINE void SetSingleShape(int singleM, int singleN, int singleK) { set_single(singleM, singleN, singleK); }
  OPWRIGHT_INLINE void SetTail(int tailM = -1, int tailN = -1, int tailK = -1) {
    set_single(tailM == -1 ? single_m_ : tailM, tailN == -1 ? single_n_ : tailN, tailK == -1 ? single_k_ : tailK);
  }

  OPWRIGHT_INLINE void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false) {
    set_operand(a_, gm.data(), true, isTransposeA, A_TYPE::isTrans, "SetTensorA");
  }
  OPWRIGHT_INLINE void SetTensorA(const LocalTensor<SrcAT>& leftMatrix, bool isTransposeA = false) {
    set_operand(a_, leftMatrix.data(), false, isTransposeA, A_TYPE::isTrans, "SetTensorA");
  }
  OPWRIGHT_INLINE void SetTensorA(SrcAT aScalar) { set_scalar(a_, aScalar); }
  OPWRIGHT_INLINE void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false) {
    set_operand(b_, gm.data(), true, isTransposeB, B_TYPE::isTrans, "SetTensorB");
  }
  OPWRIGHT_INLINE void SetTensorB(const LocalTensor<SrcBT>& rightMatrix, bool isTransposeB = false) {
    set_operand(b_, rightMatrix.data(), false, isTransposeB, B_TYPE::isTrans, "SetTensorB");
  }
  OPWRIGHT_INLINE void SetTensorB(SrcBT bScalar) { set_scalar(b_, bScalar); }
  // Fractals of 16 columns of B, for each 8 bytes: 2 bits for each number of B.
  OPWRIGHT_INLINE void SetSparseIndex(const GlobalTensor<uint8_t>& indexGlobal) {
    static_assert(Core::kSparse, "Matmul::SetSparseIndex: B is no SparseMatmulType");
    sparse_index_ = indexGlobal.data();
    restart();
  }
  OPWRIGHT_INLINE void SetBias(const GlobalTensor<BiasT>& biasGlobal) { set_bias(biasGlobal.data(), true); }
  OPWRIGHT_INLINE void SetBias(const LocalTensor<BiasT>& inputBias) { set_bias(inputBias.data(), false); }
  OPWRIGHT_INLINE void DisableBias() { bias_ = nullptr; }
  OPWRIGHT_INLINE void ClearBias() { bias_ = nullptr; }
  OPWRIGHT_INLINE void SetQuantScalar(const uint64_t quantScalar) { results_.set_word(quantScalar); }
  OPWRIGHT_INLINE void SetQuantVector(const GlobalTensor<uint64_t>& quantTensor) {
    results_.set_words(quantTensor.data(), true);
  }
  OPWRIGHT_INLINE void SetQuantVector(const LocalTensor<uint64_t>& quantTensor) {
    results_.set_words(quantTensor.data(), false);
  }
  OPWRIGHT_INLINE void SetHF32(bool enableHF32 = false, int32_t transMode = 0) {
    hf32_ = enableHF32;
    hf32_towards_zero_ = transMode != 0;
  }
  OPWRIGHT_INLINE void SetBatchNum(int32_t batchA, int32_t batchB) {
    batch_a_ = static_cast<uint32_t>(batchA);
    batch_b_ = static_cast<uint32_t>(batchB);
  }

  // Space for the hardware's way of computing.
  OPWRIGHT_INLINE void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
  template <class T>
  OPWRIGHT_INLINE void SetWorkspace(GlobalTensor<T>& addr) {
    workspace_ = reinterpret_cast<DstT*>(addr.data());
  }
  template <class T>
  OPWRIGHT_INLINE void SetWorkspace(__gm__ const T* addr, int) {
    workspace_ = reinterpret_cast<DstT*>(const_cast<T*>(machine::host_address(addr)));
  }
  // The arguments of functions of the kernel.
  OPWRIGHT_INLINE void SetUserDefInfo(const uint64_t tilingPtr) {
    user_info_ = tilingPtr;
    restart();
  }
  OPWRIGHT_INLINE void SetSelfDefineData(const uint64_t dataPtr) {
    user_data_ = dataPtr;
    restart();
  }
  OPWRIGHT_INLINE void SetSubBlockIdx(uint8_t subBlockIdx) { sub_block_ = subBlockIdx; }
  OPWRIGHT_INLINE uint8_t GetSubBlockIdx() { return sub_block_; }

  // ---- block by block

  template <bool sync = true>
  OPWRIGHT_INLINE bool Iterate(bool enPartialSum = false) {
    static_assert(MATMUL_POLICY<MM_CFG>::kTriangle == machine::Triangle::kNone,
                  "Matmul::Iterate with the policy of a triangle; supported: IterateAll");
    if constexpr (!sync) {
      ahead_ = true;  // GetTensorC takes the blocks one after the other
      next_ = 0;
      return true;
    } else {
      return iterate(enPartialSum);
    }
  }
  template <bool sync = true, typename T>
  OPWRIGHT_INLINE bool Iterate(bool enPartialSum, const LocalTensor<T>& localCmatrix) {
    static_assert(std::is_same_v<PrimT<T>, L0cT>,
                  "Matmul::Iterate: the tensor in CO1 is float, or int32_t for integers");
    machine::demand("Iterate", "localCmatrix", localCmatrix, machine::Memory::kL0C, "CO1");
    if (!iterate(false)) return false;
    put_fractals(localCmatrix, enPartialSum);
    return true;
  }

  template <bool sync = true>
  OPWRIGHT_INLINE void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false) {
    take_block(sync);
    put(target(gm.data(), true, enSequentialWrite), enSequentialWrite, enAtomic);
  }
  template <bool sync = true, bool doPad = false>
  OPWRIGHT_INLINE void GetTensorC(const LocalTensor<DstT>& c, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                                  uint32_t = 0, uint32_t = 0, uint32_t = 0, uint32_t = 0) {
    take_block(sync);
    put(target(c.data(), false, enSequentialWrite), enSequentialWrite, enAtomic);
  }
  template <bool sync = true>
  OPWRIGHT_INLINE void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& co2Local, uint8_t enAtomic = 0,
                                  bool enSequentialWrite = false) {
    take_block(sync);
    put(target(gm.data(), true, enSequentialWrite), enSequentialWrite, enAtomic);
    put(target(co2Local.data(), false, enSequentialWrite), enSequentialWrite, enAtomic);
  }
  template <bool sync = true>
  OPWRIGHT_INLINE GlobalTensor<DstT> GetTensorC(uint8_t enAtomic = 0, bool enSequentialWrite = false) {
    if (workspace_ == nullptr) machine::refuse("GetTensorC", "no workspace; call SetWorkspace before Iterate");
    GlobalTensor<DstT> result;
    result.SetGlobalBuffer(workspace_ + size_t{next_} * base_m() * base_n());
    take_block(sync);
    static_cast<void>(enSequentialWrite);  // the workspace holds block after block
    put(target(result.data(), true, true), true, enAtomic);
    return result;
  }
  OPWRIGHT_INLINE void AsyncGetTensorC(const LocalTensor<DstT>& c) { GetTensorC<false>(c); }
  OPWRIGHT_INLINE void WaitGetTensorC() {}
  OPWRIGHT_INLINE MatrixOffset GetOffsetC() {
    return {static_cast<int32_t>(row_ * static_cast<uint32_t>(org_n_) + column_), static_cast<int32_t>(row_),
            static_cast<int32_t>(column_), static_cast<int32_t>(rows_), static_cast<int32_t>(columns_)};
  }

  // ---- all of it

  template <bool sync = true>
  OPWRIGHT_INLINE void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                                  bool waitIterateAll = false, bool fakeMsg = false) {
    static_cast<void>(waitIterateAll);
    if (!fakeMsg) iterate_all(gm.data(), true, enSequentialWrite, enAtomic);
  }
  template <bool sync = true>
  OPWRIGHT_INLINE void IterateAll(const LocalTensor<DstT>& ubCmatrix, uint8_t enAtomic = 0) {
    iterate_all(ubCmatrix.data(), false, false, enAtomic);
  }
  OPWRIGHT_INLINE void WaitIterateAll() {}
  OPWRIGHT_INLINE void End() { machine::uses_cube<kMixed>(); }

  // ---- several products at once

  template <bool sync = true, bool waitIterateBatch = false>
  OPWRIGHT_INLINE void IterateBatch(const GlobalTensor<DstT>& gm, uint32_t batchA, uint32_t batchB,
                                    bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                    const uint32_t matrixStrideB = 0, const uint32_t matrixStrideC = 0,
                                    const bool enPartialSum = false, const uint8_t enAtomic = 0) {
    refuse_partial_batch(enPartialSum);
    iterate_batch(gm.data(), true, {batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC}, enSequentialWrite,
                  enAtomic, 0);
  }
  template <bool sync = true>
  OPWRIGHT_INLINE void IterateBatch(const LocalTensor<DstT>& ubCmatrix, uint32_t batchA, uint32_t batchB,
                                    bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                    const uint32_t matrixStrideB = 0, const uint32_t matrixStrideC = 0,
                                    const bool enPartialSum = false, const uint8_t enAtomic = 0) {
    refuse_partial_batch(enPartialSum);
    iterate_batch(ubCmatrix.data(), false, {batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC},
                  enSequentialWrite, enAtomic, 0);
  }
  // On the cube core alone: the batches come from SetBatchNum. Only a bool may come first, or it would be taken for the
  // form above when that one's numbers are int.
  template <class Partial, typename std::enable_if<std::is_same<Partial, bool>::value, bool>::type = true>
  OPWRIGHT_INLINE void IterateBatch(const GlobalTensor<DstT>& gm, Partial enPartialSum, uint8_t enAtomic,
                                    bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                    const uint32_t matrixStrideB = 0, const uint32_t matrixStrideC = 0) {
    refuse_partial_batch(enPartialSum);
    iterate_batch(gm.data(), true, {batch_a_, batch_b_, matrixStrideA, matrixStrideB, matrixStrideC}, enSequentialWrite,
                  enAtomic, 0);
  }
  template <bool sync = true, bool waitIterateBatch = false>
  OPWRIGHT_INLINE void IterateNBatch(const uint32_t batchLoop, uint32_t batchA, uint32_t batchB, bool enSequentialWrite,
                                     const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                                     const uint32_t matrixStrideC = 0) {
    if (workspace_ == nullptr) machine::refuse("IterateNBatch", "no workspace; call SetWorkspace before");
    for (uint32_t loop = 0; loop < batchLoop; ++loop) {
      iterate_batch(workspace_, true, {batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC}, enSequentialWrite,
                    0, loop);
    }
    taken_batches_ = 0;
  }
  template <bool sync = true>
  OPWRIGHT_INLINE GlobalTensor<DstT> GetBatchTensorC(uint32_t batchA, uint32_t batchB, bool = false) {
    const uint32_t batches = batchA > batchB ? batchA : batchB;
    GlobalTensor<DstT> result;
    result.SetGlobalBuffer(workspace_ + size_t{taken_batches_} * batch_matrix_c());
    taken_batches_ += batches;
    return result;
  }
  template <bool sync = true>
  OPWRIGHT_INLINE GlobalTensor<DstT> GetBatchC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false) {
    return GetBatchTensorC<sync>(batchA, batchB, enSequentialWrite);
  }
  OPWRIGHT_INLINE void WaitIterateBatch() {}

 private:
  using Core::a_;
  using Core::ahead_;
  using Core::apply_constants;
  using Core::b_;
  using Core::base_m;
  using Core::base_n;
  using Core::batch_a_;
  using Core::batch_b_;
  using Core::batch_matrix_c;
  using Core::bias_;
  using Core::column_;
  using Core::columns_;
  using Core::hf32_;
  using Core::hf32_towards_zero_;
  using Core::iterate;
  using Core::iterate_all;
  using Core::iterate_batch;
  using Core::next_;
  using Core::org_ka_;
  using Core::org_kb_;
  using Core::org_kc_;
  using Core::org_m_;
  using Core::org_n_;
  using Core::put;
  using Core::put_fractals;
  using Core::refuse_partial_batch;
  using Core::restart;
  using Core::results_;
  using Core::row_;
  using Core::rows_;
  using Core::set_bias;
  using Core::set_operand;
  using Core::set_scalar;
  using Core::set_single;
  using Core::single_k_;
  using Core::single_m_;
  using Core::single_n_;
  using Core::sparse_index_;
  using Core::sub_block_;
  using Core::take_block;
  using Core::taken_batches_;
  using Core::target;
  using Core::tiling_;
  using Core::user_data_;
  using Core::user_info_;
  using Core::workspace_;
};

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto& = MM_CFG, typename...> class MATMUL_POLICY = MatmulPolicy>
using Matmul = MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY>;

}  // namespace AscendC

namespace matmul {
using AscendC::Matmul;
using AscendC::MatmulCallBackFunc;
using AscendC::MatmulImpl;
using AscendC::MatmulType;
using namespace AscendC;
}  // namespace matmul
