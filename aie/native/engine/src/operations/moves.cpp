// operations/moves.cpp: elements in other places, or more than once, by PyTorch's names and rules.
#include <ATen/TensorOperators.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/meshgrid.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/pixel_unshuffle.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tile.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensors meshgrid(const Call& c) { return at::meshgrid(c.operands(), c.has("indexing") ? c.text("indexing") : "ij"); }

/// A value is for the mode constant only.
Tensor pad(const Call& c, const std::string& mode) {
  return at::pad(c[0], c.list(c.has("pad") ? "pad" : "padding"), mode, optional_real(c, "value"));
}

const Operation kMovesOperations[] = {
    {"Flip", 1, [](const Call& c) -> Tensors { return {at::flip(c[0], c.list("dims"))}; }},
    {"Meshgrid", 1, meshgrid},
    {"Pad", 1, [](const Call& c) -> Tensors { return {pad(c, c.text("mode"))}; }},
    {"PadConstant", 1, [](const Call& c) -> Tensors { return {pad(c, "constant")}; }},
    {"PadReflect", 1, [](const Call& c) -> Tensors { return {pad(c, "reflect")}; }},
    {"PadReplicate", 1, [](const Call& c) -> Tensors { return {pad(c, "replicate")}; }},
    {"PixelShuffle", 1,
     [](const Call& c) -> Tensors { return {at::pixel_shuffle(c[0], c.integer("upscale_factor"))}; }},
    {"PixelUnshuffle", 1,
     [](const Call& c) -> Tensors { return {at::pixel_unshuffle(c[0], c.integer("downscale_factor"))}; }},
    {"Repeat", 1, [](const Call& c) -> Tensors { return {c[0].repeat(c.list("repeats"))}; }},
    {"RepeatInterleave", 1,
     [](const Call& c) -> Tensors {
       return {at::repeat_interleave(c[0], c.integer("repeats"), optional_integer(c, "dim"))};
     }},
    {"Roll", 1, [](const Call& c) -> Tensors { return {at::roll(c[0], c.list("shifts"), c.list("dims"))}; }},
    {"Stack", 1, [](const Call& c) -> Tensors { return {at::stack(c.operands(), c.integer("dim"))}; }},
    {"Tile", 1, [](const Call& c) -> Tensors { return {at::tile(c[0], c.list("dims"))}; }},
    {"Tril", 1, [](const Call& c) -> Tensors { return {at::tril(c[0], c.integer("diagonal"))}; }},
    {"Triu", 1, [](const Call& c) -> Tensors { return {at::triu(c[0], c.integer("diagonal"))}; }},
};

}  // namespace

Table moves() { return kMovesOperations; }

}  // namespace AscendIE
