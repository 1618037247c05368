// tests/native/access_test.cpp
// Whether AArch64 instructions read or write memory; encodings as its assembler emits them.
#include "runtime/memory/access.h"

#include "scenario.h"

using opwright::Access;
using opwright::access_of_aarch64;

SCENARIO(instructions_that_read) {
  constexpr uint32_t kRead[] = {
      0x39400000,  // ldrb w0, [x0]
      0x3dc00020,  // ldr q0, [x1]
      0xb8808c20,  // ldrsw x0, [x1, #8]!
      0xfc5fd020,  // ldur d0, [x1, #-3]
      0xa9400440,  // ldp x0, x1, [x2]
      0xa8400440,  // ldnp x0, x1, [x2]
      0x4cdf7800,  // ld1 {v0.4s}, [x0], #16
      0x58000280,  // ldr x0, =literal
      0x885ffc20,  // ldaxr w0, [x1]
      0xc87f0440,  // ldxp x0, x1, [x2]
      0xb8bfc020,  // ldapr w0, [x1]
      0xa540a000,  // ld1w {z0.s}, p0/z, [x0]
      0x8540c000,  // ld1rw {z0.s}, p0/z, [x0]
      0x85014000,  // ld1w {z0.s}, p0/z, [x0, z1.s, uxtw]
      0x85804000,  // ldr z0, [x0]
  };
  for (const uint32_t instruction : kRead) CHECK_EQ(access_of_aarch64(instruction), Access::kRead);
}

SCENARIO(instructions_that_write) {
  constexpr uint32_t kWrite[] = {
      0x39000001,  // strb w1, [x0]
      0x3d800020,  // str q0, [x1]
      0xbc226820,  // str s0, [x1, x2]
      0xb81fd020,  // stur w0, [x1, #-3]
      0xac810440,  // stp q0, q1, [x2], #32
      0x4c007800,  // st1 {v0.4s}, [x0]
      0x0d009000,  // st1 {v0.s}[1], [x0]
      0x889ffc20,  // stlr w0, [x1]
      0x88037c20,  // stxr w3, w0, [x1]
      0x88e0fc41,  // casal w0, w1, [x2]
      0x4860fc82,  // caspal x0, x1, x2, x3, [x4]
      0xb8200041,  // ldadd w0, w1, [x2]
      0xb8208041,  // swp w0, w1, [x2]
      0xe540e000,  // st1w {z0.s}, p0, [x0]
      0xe5418000,  // st1w {z0.s}, p0, [x0, z1.s, uxtw]
      0xe5804000,  // str z0, [x0]
  };
  for (const uint32_t instruction : kWrite) CHECK_EQ(access_of_aarch64(instruction), Access::kWrite);
}

SCENARIO(other_instructions) {
  CHECK_EQ(access_of_aarch64(0x8b010000), Access::kUnknown);  // add x0, x0, x1
  CHECK_EQ(access_of_aarch64(0xd50b7420), Access::kUnknown);  // dc zva, x0
}
