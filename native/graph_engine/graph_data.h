// native/graph_engine/graph_data.h
// The data behind ge::Graph and ge::GNode, for the parts of the twin that look inside.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ge/graph.h"

namespace ge {

class NodeImpl {
 public:
  std::string name;
  std::string type;
};

class GraphImpl {
 public:
  std::string name;
  std::string model;  // the serialized ge.proto.ModelDef; empty: no graph was loaded
  std::vector<std::shared_ptr<NodeImpl>> nodes;
};

}  // namespace ge

namespace opwright::graph_engine {

struct Access {
  // nullptr for a graph that was default-constructed and never loaded.
  static const ge::GraphImpl* data(const ge::Graph& graph) { return graph.impl_.get(); }

  static ge::GNode node(std::shared_ptr<ge::NodeImpl> data) {
    ge::GNode result;
    result.impl_ = std::move(data);
    return result;
  }
};

}  // namespace opwright::graph_engine
