// conversion/declared.cpp: a node at the begin of graphs that libtorch has a part of: it checks the graph's inputs.
#include <torch/library.h>

#include "conversion/inputs.h"
#include "core/util/prelude.h"
#include "runtime/Inputs.h"

namespace torch_aie::core::conversion {

namespace {

using AscendIE::DeclaredInput;
using AscendIE::DimsRange;

// TorchScript saves lists of integers: for each input the type, rank, count of profiles, and each one's ends.
std::vector<int64_t> numbers_of(const std::vector<InputType>& inputs) {
  std::vector<int64_t> numbers;
  const auto append = [&](const AscendIE::Dims& dims) { numbers.insert(numbers.end(), dims.begin(), dims.end()); };
  for (const InputType& input : inputs) {
    std::vector<DimsRange> profiles = input.profiles;
    if (profiles.empty()) profiles.push_back({util::toDims(input.shape), util::toDims(input.shape)});
    numbers.push_back(static_cast<int64_t>(input.type));
    numbers.push_back(static_cast<int64_t>(input.shape.size()));
    numbers.push_back(static_cast<int64_t>(profiles.size()));
    for (const DimsRange& range : profiles) {
      append(range.min);
      append(range.max);
    }
  }
  return numbers;
}

class Reader {
 public:
  explicit Reader(const std::vector<int64_t>& numbers) : numbers_(numbers) {}

  int64_t number() {
    TORCH_CHECK_VALUE(next_ < numbers_.size(), "the declaration of the inputs ends too early");
    return numbers_[next_++];
  }
  AscendIE::Dims dims(int64_t rank) {
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < rank; ++i) sizes.push_back(number());
    return AscendIE::Dims(sizes);
  }

 private:
  const std::vector<int64_t>& numbers_;
  size_t next_ = 0;
};

std::vector<at::Tensor> expect_declared(std::vector<at::Tensor> inputs, const std::vector<std::string>& names,
                                        const std::vector<int64_t>& numbers) {
  Reader reader(numbers);
  std::vector<DeclaredInput> declared;
  for (const std::string& name : names) {
    DeclaredInput& input = declared.emplace_back(DeclaredInput{name, static_cast<at::ScalarType>(reader.number()), {}});
    const int64_t rank = reader.number();
    for (int64_t left = reader.number(); left > 0; --left) {
      const AscendIE::Dims least = reader.dims(rank);
      input.profiles.push_back({least, reader.dims(rank)});
    }
  }
  AscendIE::CheckInputs(declared, inputs);
  return inputs;
}

TORCH_LIBRARY_FRAGMENT(torch_aie, library) {
  // It returns what it takes: only so do the readers wait for it.
  library.def("expect_declared", expect_declared);
}

}  // namespace

void expect_declared(torch::jit::Graph& graph, const std::vector<InputType>& inputs) {
  const auto values = graph.inputs().slice(1);
  std::vector<std::string> names;
  for (const torch::jit::Value* value : values) names.push_back(value->debugName());
  const torch::jit::WithInsertPoint here(*graph.nodes().begin());
  torch::jit::Node* const list = graph.insertNode(graph.createList(c10::TensorType::get(), values));
  torch::jit::Value* const checked =
      graph.insert(c10::Symbol::fromQualString("torch_aie::expect_declared"),
                   {list->output(), graph.insertConstant(names), graph.insertConstant(numbers_of(inputs))});
  torch::jit::Node* const unpack = graph.insertNode(graph.createListUnpack(checked, values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    unpack->output(i)->setType(values[i]->type());
    values[i]->replaceAllUsesAfterNodeWith(unpack, unpack->output(i));
  }
}

}  // namespace torch_aie::core::conversion
