// lowering/modules.h: from which classes and lines of Python a node comes.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <vector>

namespace torch_aie::core::lowering {

/// "torchvision.models.resnet.BasicBlock" of "__torch__.torchvision.models.resnet.___torch_mangle_3.BasicBlock",
/// "Model" of "__main__.Model": TorchScript does not name the main module.
std::string class_name(const std::string& qualified);

/// The classes of the modules whose calls the node was inlined from.
std::vector<std::string> classes_of(const torch::jit::Node* node);

/// The text of its line, and the line of the user's module that led to it: for lists of nodes.
std::string source_of(const torch::jit::Node* node);

}  // namespace torch_aie::core::lowering
