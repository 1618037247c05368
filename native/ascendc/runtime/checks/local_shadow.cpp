// native/ascendc/runtime/checks/local_shadow.cpp
#include "ascendc/runtime/checks/local_shadow.h"

#include <cstring>

namespace AscendC::machine {
namespace {

constexpr uint32_t kCell = 4;

}  // namespace

LocalShadow::Shadow& LocalShadow::of(Memory memory) {
  const auto index = static_cast<size_t>(memory);
  Shadow& shadow = shadows_[index];
  if (shadow.cells.empty()) {
    const uint32_t bytes = core().memory[index].bytes;
    shadow.cells.resize((bytes + kCell - 1) / kCell);
    shadow.defined.resize(bytes);
  }
  return shadow;
}

void LocalShadow::note_reader(Cell& cell, Moment now, const PipeClock& clock) {
  for (Moment& reader : cell.readers) {
    if (!reader.exists() || reader.pipe() == now.pipe()) {
      reader = now;
      return;
    }
  }
  // More pipes than places: one that is done anyway need not be remembered.
  cell.readers[cell.readers[0].before(clock) ? 0 : 1] = now;
}

std::optional<Conflict> LocalShadow::touch(Memory memory, uint32_t offset, uint32_t bytes, bool write, Moment now,
                                           PipeClock& clock) {
  Shadow& shadow = of(memory);
  std::optional<Conflict> found;
  const auto meet = [&](Moment earlier, bool earlier_wrote, uint32_t cell) {
    if (!earlier.exists() || earlier.pipe() == now.pipe() || earlier.before(clock)) return;
    if (earlier.pipe() == Pipe::kScalar) return;
    if (now.pipe() == Pipe::kScalar) {
      uint32_t& known = clock[static_cast<size_t>(earlier.pipe())];
      known = std::max(known, earlier.number());
    } else if (!found) {
      found = Conflict{earlier, earlier_wrote, std::max(offset, cell * kCell)};
    }
  };
  const uint32_t last = (offset + bytes - 1) / kCell;
  for (uint32_t i = offset / kCell; i <= last; ++i) {
    Cell& cell = shadow.cells[i];
    meet(cell.writer, true, i);
    if (write) {
      for (Moment& reader : cell.readers) {
        meet(reader, false, i);
        reader = Moment();
      }
      cell.writer = now;
    } else {
      note_reader(cell, now, clock);
    }
  }
  return found;
}

void LocalShadow::define(Memory memory, uint32_t offset, uint32_t bytes, bool defined) {
  std::memset(of(memory).defined.data() + offset, defined ? 1 : 0, bytes);
}

uint32_t LocalShadow::first_undefined(Memory memory, uint32_t offset, uint32_t bytes) {
  const uint8_t* const begin = of(memory).defined.data() + offset;
  const void* const found = std::memchr(begin, 0, bytes);
  return found == nullptr ? bytes : static_cast<uint32_t>(static_cast<const uint8_t*>(found) - begin);
}

uint32_t LocalShadow::first_defined(Memory memory, uint32_t offset, uint32_t bytes) {
  const uint8_t* const begin = of(memory).defined.data() + offset;
  const void* const found = std::memchr(begin, 1, bytes);
  return found == nullptr ? bytes : static_cast<uint32_t>(static_cast<const uint8_t*>(found) - begin);
}

}  // namespace AscendC::machine
