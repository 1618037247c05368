// native/abi/ge/graph.h
// Graphs and their nodes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ge/ascend_string.h"
#include "ge/types.h"

namespace opwright::graph_engine {
struct Access;
}

#pragma GCC visibility push(default)
namespace ge {

class GraphImpl;
class NodeImpl;

class GNode {
 public:
  GNode();
  ~GNode() = default;

  graphStatus GetType(AscendString& type) const;
  graphStatus GetName(AscendString& name) const;

 private:
  friend struct opwright::graph_engine::Access;
  std::shared_ptr<NodeImpl> impl_;
};

class Graph {
 public:
  Graph() = default;
  explicit Graph(const char* name);
  ~Graph() = default;

  bool IsValid() const;
  graphStatus GetName(AscendString& name) const;
  // `model` is a serialized ge.proto.ModelDef; its first graph becomes this graph.
  graphStatus LoadFromSerializedModelArray(const void* model, size_t size);
  graphStatus SaveToFile(const char* file_name) const;
  graphStatus CopyFrom(const Graph& source);
  std::vector<GNode> GetAllNodes() const;

 private:
  friend struct opwright::graph_engine::Access;
  std::shared_ptr<GraphImpl> impl_;
};

static_assert(sizeof(GNode) == 16 && sizeof(Graph) == 16);

}  // namespace ge
#pragma GCC visibility pop
