// native/graph_engine/graph.cpp
// ge::Graph and ge::GNode: a graph keeps the serialized model it was loaded from and knows its nodes' names and types.
#include "ge/graph.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "graph_engine/graph_data.h"
#include "graph_engine/status.h"
#include "runtime/call.h"
#include "runtime/wire.h"

using opwright::Field;
using opwright::WireReader;
using opwright::graph_engine::Access;
using opwright::graph_engine::rejected;

namespace ge {
namespace {

// Field numbers of ge.proto.
enum ModelDef : uint32_t { kModelGraph = 7 };
enum GraphDef : uint32_t { kGraphName = 1, kGraphOp = 6 };
enum OpDef : uint32_t { kOpName = 1, kOpType = 2 };

std::shared_ptr<NodeImpl> parse_node(std::string_view op) {
  auto node = std::make_shared<NodeImpl>();
  Field field;
  for (WireReader reader(op); reader.next(field);) {
    if (field.number == kOpName) node->name = field.bytes;
    if (field.number == kOpType) node->type = field.bytes;
  }
  return node;
}

std::shared_ptr<GraphImpl> parse_graph(std::string_view graph) {
  auto parsed = std::make_shared<GraphImpl>();
  Field field;
  for (WireReader reader(graph); reader.next(field);) {
    if (field.number == kGraphName) parsed->name = field.bytes;
    if (field.number == kGraphOp) parsed->nodes.push_back(parse_node(field.bytes));
  }
  return parsed;
}

std::shared_ptr<GraphImpl> parse_model(std::string_view model) {
  Field field;
  for (WireReader reader(model); reader.next(field);) {
    if (field.number != kModelGraph) continue;
    auto parsed = parse_graph(field.bytes);
    parsed->model = model;
    return parsed;
  }
  opwright::fail(static_cast<int>(GRAPH_FAILED), "the model contains no graph");
}

template <class Body>
graphStatus guarded(const char* function, const Body& body) {
  return opwright::call(function, body) == 0 ? GRAPH_SUCCESS : GRAPH_FAILED;
}

}  // namespace

GNode::GNode() : impl_(std::make_shared<NodeImpl>()) {}

graphStatus GNode::GetType(AscendString& type) const {
  type = AscendString(impl_->type.c_str());
  return GRAPH_SUCCESS;
}

graphStatus GNode::GetName(AscendString& name) const {
  name = AscendString(impl_->name.c_str());
  return GRAPH_SUCCESS;
}

Graph::Graph(const char* name) : impl_(std::make_shared<GraphImpl>()) {
  if (name != nullptr) impl_->name = name;
}

bool Graph::IsValid() const { return impl_ != nullptr && !impl_->model.empty(); }

graphStatus Graph::GetName(AscendString& name) const {
  name = AscendString(impl_ == nullptr ? "" : impl_->name.c_str());
  return GRAPH_SUCCESS;
}

graphStatus Graph::LoadFromSerializedModelArray(const void* model, size_t size) {
  return guarded("ge::Graph::LoadFromSerializedModelArray", [&] {
    opwright::require(model != nullptr, static_cast<int>(GRAPH_FAILED), "parameter 'serialized_model' is null");
    impl_ = parse_model({static_cast<const char*>(model), size});
  });
}

// The file holds the serialized model.
graphStatus Graph::SaveToFile(const char* file_name) const {
  if (file_name == nullptr) return rejected("ge::Graph::SaveToFile", "parameter 'file_name' is null");
  if (!IsValid()) return rejected("ge::Graph::SaveToFile", "the graph is empty");
  std::ofstream file(file_name, std::ios::binary | std::ios::trunc);
  file.write(impl_->model.data(), static_cast<std::streamsize>(impl_->model.size())).flush();
  if (!file) return rejected("ge::Graph::SaveToFile", "cannot write '", file_name, "': ", std::strerror(errno));
  return GRAPH_SUCCESS;
}

// The copy keeps its own name.
graphStatus Graph::CopyFrom(const Graph& source) {
  if (!source.IsValid()) return rejected("ge::Graph::CopyFrom", "the source graph is empty");
  auto copy = std::make_shared<GraphImpl>(*source.impl_);
  if (impl_ != nullptr && !impl_->name.empty()) copy->name = impl_->name;
  impl_ = std::move(copy);
  return GRAPH_SUCCESS;
}

std::vector<GNode> Graph::GetAllNodes() const {
  std::vector<GNode> nodes;
  if (impl_ == nullptr) return nodes;
  nodes.reserve(impl_->nodes.size());
  for (const auto& node : impl_->nodes) nodes.push_back(Access::node(node));
  return nodes;
}

}  // namespace ge
