// native/ascendc/kernel/advanced/matmul/results.h
// How the sums of a Matmul become C: quantisation, ReLU, and atomic updates of global memory.
#pragma once

#include "advanced/matmul/matrix.h"

namespace AscendC::machine {

template <class T>
OPWRIGHT_INLINE void read_row(Instruction& instruction, const char* api, const char* operand, const T* from,
                              bool global, uint32_t columns) {
  const auto bytes = static_cast<uint32_t>(columns * sizeof(T));
  global ? check_global(api, operand, from, bytes) : check_local(api, operand, from, bytes);
  instruction.reads(operand, {from, bytes});
}

// The update for enAtomic; 0 leaves it to SetAtomicAdd and the functions like it.
OPWRIGHT_INLINE Update update_of(uint8_t atomic) {
  if (atomic > 3) refuse("Matmul", "enAtomic is ", int{atomic}, "; allowed: 0, 1, 2, 3");
  return atomic == 0 ? atomic_update() : static_cast<Update>(atomic);
}

// A part of C.
struct Part {
  uint32_t row, column, rows, columns;
};

template <class D, class Acc>
class Results {
 public:
  OPWRIGHT_INLINE void set_word(uint64_t word) {
    word_ = word;
    words_ = nullptr;
    quantises_ = true;
  }
  // A word for each column of C.
  OPWRIGHT_INLINE void set_words(const uint64_t* words, bool global) {
    words_ = words;
    words_global_ = global;
    quantises_ = true;
  }

  // Writes rows of part.columns sums to a part of C, in which `width` columns make a fractal. The words of its columns
  // begin at `first_word`.
  template <uint32_t width, bool relu>
  void store(Instruction& instruction, const char* api, const Matrix<D>& c, const Part& part, const Acc* sums,
             uint32_t first_word, Update how) const {
    if (part.rows == 0 || part.columns == 0) return;
    constexpr bool kQuantised = !std::is_same_v<D, Acc> && (std::is_integral_v<Acc> || std::is_integral_v<D>);
    if (kQuantised && !quantises_) {
      refuse(api, "C is quantised, and neither SetQuantScalar nor SetQuantVector was called");
    }
    if (words_ != nullptr) {
      read_row(instruction, api, "quantTensor", words_ + first_word, words_global_, part.columns);
    }
    touch(instruction, api, "C", c, part.row, part.column, part.rows, part.columns, true, how != Update::kSet);
    for (uint32_t r = 0; r < part.rows; ++r) {
      for (uint32_t i = 0; i < part.columns; ++i) {
        const QuantWord word{words_ != nullptr ? words_[first_word + i] : word_};
        D* to = c.data + c.index(part.row + r, part.column + i, width);
        update(to, converted<D>(sums[size_t{r} * part.columns + i], word, relu), how);
      }
    }
  }

 private:
  bool quantises_ = false;
  uint64_t word_ = 0;
  const uint64_t* words_ = nullptr;
  bool words_global_ = true;
};

}  // namespace AscendC::machine
