// tests/native/graph_test.cpp
// Values of the graph interface, and what it answers in a process without Python.
#include "ge/graph.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ge/operator.h"
#include "ge/session.h"
#include "ge/tensor.h"
#include "graph_model.h"
#include "runtime/error.h"
#include "runtime/wire.h"
#include "scenario.h"

using opwright::test::kFailed;
using opwright::test::model;

namespace {

std::string type_of(const ge::GNode& node) {
  ge::AscendString type;
  CHECK_EQ(node.GetType(type), ge::GRAPH_SUCCESS);
  return type.GetString();
}

}  // namespace

SCENARIO(strings_compare_by_their_text) {
  CHECK_EQ(std::string(ge::AscendString().GetString()), "");
  CHECK(ge::AscendString("a") == ge::AscendString("a"));
  CHECK(ge::AscendString("a") < ge::AscendString("b"));
  CHECK(ge::AscendString() < ge::AscendString("a"));
}

SCENARIO(a_tensor_takes_memory_and_gives_it_up) {
  static int deleted = 0;
  uint8_t memory[4] = {7};
  ge::Tensor tensor;
  CHECK_EQ(tensor.ResetData(memory, 4, [](uint8_t*) { ++deleted; }), ge::GRAPH_SUCCESS);
  {
    const ge::Tensor shared = tensor;
    CHECK_EQ(*shared.GetData(), 7);
    CHECK_EQ(shared.GetSize(), size_t{4});
  }
  CHECK_EQ(deleted, 0);
  {
    const auto given = tensor.ResetData();
    CHECK_EQ(given.get(), memory);
    CHECK(tensor.GetData() == nullptr);
    CHECK_EQ(tensor.GetSize(), size_t{0});
  }
  CHECK_EQ(deleted, 1);
  CHECK_EQ(tensor.ResetData(memory, 4, nullptr), ge::GRAPH_FAILED);
}

SCENARIO(shapes_and_descriptions_read_back) {
  ge::Tensor tensor;
  tensor.SetShapeDimNum(2);
  CHECK_EQ(tensor.GetShapeDim(0), -1);
  CHECK_EQ(tensor.SetShapeDim(1, 5), ge::GRAPH_SUCCESS);
  CHECK_EQ(tensor.GetShapeDim(1), 5);
  CHECK_EQ(tensor.SetShapeDim(2, 5), ge::GRAPH_FAILED);
  ge::TensorDesc desc(ge::Shape({2, 3}), ge::FORMAT_NCHW, ge::DT_BF16);
  const ge::TensorDesc copy = desc;
  desc.SetDataType(ge::DT_INT8);
  CHECK_EQ(copy.GetDataType(), ge::DT_BF16);
  tensor.SetTensorDesc(copy);
  CHECK_EQ(tensor.GetShapeDimNum(), size_t{2});
  CHECK_EQ(tensor.GetTensorDesc().GetShape().GetShapeSize(), 6);
  CHECK_EQ(ge::Shape({-2}).GetDimNum(), size_t{0});
  CHECK_EQ(ge::Shape({-1, 2}).GetShapeSize(), -1);
}

SCENARIO(layouts_have_names) {
  CHECK_EQ(std::string(ge::GetFormatName(ge::FORMAT_ND)), "ND");
  CHECK_EQ(std::string(ge::GetFormatName(static_cast<ge::Format>(51))), "FRACTAL_NZ_C0_32");
  CHECK_EQ(std::string(ge::GetFormatName(static_cast<ge::Format>(29 | 4 << 8))), "FRACTAL_NZ");
  CHECK_EQ(std::string(ge::GetFormatName(static_cast<ge::Format>(0xFF))), "UNKNOWN");
}

SCENARIO(a_graph_knows_its_nodes) {
  const std::string bytes = model();
  ge::Graph graph;
  CHECK_EQ(graph.LoadFromSerializedModelArray(bytes.data(), bytes.size()), ge::GRAPH_SUCCESS);
  const auto nodes = graph.GetAllNodes();
  CHECK_EQ(nodes.size(), size_t{2});
  CHECK_EQ(type_of(nodes[1]), "PrintV2");

  ge::Graph copy("copy");
  CHECK_EQ(copy.CopyFrom(graph), ge::GRAPH_SUCCESS);
  CHECK_EQ(copy.GetAllNodes().size(), size_t{2});
  std::string path = std::filesystem::temp_directory_path() / "opwright_graph_XXXXXX";
  CHECK(mkstemp(path.data()) >= 0);
  CHECK_EQ(copy.SaveToFile(path.c_str()), ge::GRAPH_SUCCESS);
  std::ifstream file(path, std::ios::binary);
  CHECK_EQ(std::string(std::istreambuf_iterator<char>(file), {}), bytes);
  std::remove(path.c_str());
  CHECK_EQ(copy.SaveToFile("/nowhere/graph.air"), ge::GRAPH_FAILED);
}

SCENARIO(every_truncation_of_a_model_is_survived) {
  const std::string bytes = model();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string part(bytes, 0, size);  // a copy of its own, so that a read beyond it is found
    ge::Graph graph;
    CHECK_EQ(graph.LoadFromSerializedModelArray(part.data(), part.size()), ge::GRAPH_FAILED);
  }
  ge::Graph graph;
  REFUSED(static_cast<int>(graph.LoadFromSerializedModelArray("zzz", 3)), static_cast<int>(ge::GRAPH_FAILED),
          "not a protobuf message");
}

SCENARIO(every_changed_byte_of_a_model_is_survived) {
  const std::string bytes = model();
  for (size_t place = 0; place < bytes.size(); ++place) {
    for (const int bit : {0, 1, 2, 3, 4, 5, 6, 7}) {
      std::string changed = bytes;
      changed[place] = static_cast<char>(changed[place] ^ (1 << bit));
      ge::Graph graph;
      if (graph.LoadFromSerializedModelArray(changed.data(), changed.size()) == ge::GRAPH_SUCCESS) {
        for (const ge::GNode& node : graph.GetAllNodes()) type_of(node);
      }
    }
  }
}

SCENARIO(wire_numbers_of_every_kind_are_read) {
  const std::string bytes = std::string("\x08\x96\x01", 3) + std::string("\x15\x01\x02\x00\x00", 5) +
                            std::string("\x19\x01\x00\x00\x00\x00\x00\x00\x80", 9);
  opwright::WireReader reader(bytes);
  opwright::Field field{};
  CHECK(reader.next(field) && field.number == 1 && field.value == 150);
  CHECK(reader.next(field) && field.number == 2 && field.value == 0x201);
  CHECK(reader.next(field) && field.number == 3 && field.value == 0x8000000000000001);
  CHECK(!reader.next(field));
}

SCENARIO(without_python_no_graph_is_compiled) {
  REFUSED(static_cast<int>(ge::GEInitialize({})), kFailed, "ge::GEInitialize", "written in Python");
  ge::Session session({});
  REFUSED(static_cast<int>(session.AddGraph(1, ge::Graph(), {})), kFailed, "ge::Session::AddGraph", "graph 1 is empty");
  REFUSED(static_cast<int>(session.CompileGraph(1)), kFailed, "ge::Session::CompileGraph", "no graph 1");
  CHECK(session.GetCompiledGraphSummary(1) == nullptr);
  CHECK_EQ(ge::GEFinalize(), ge::SUCCESS);
  CHECK(!ge::OperatorFactory::IsExistOp("Add"));
  CHECK(ge::OperatorFactory::CreateOperator("a", "Add").IsEmpty());
}
