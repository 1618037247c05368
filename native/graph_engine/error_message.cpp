// native/graph_engine/error_message.cpp
// ge::GEGetErrorMsg. The only unit that is compiled with the old string ABI, so it includes nothing else of the twin.
#include "graph_engine/error_message.h"

#include <string>

namespace ge {

__attribute__((visibility("default"))) std::string GEGetErrorMsg() {
  return opwright::graph_engine::take_error_message();
}

}  // namespace ge
