// native/graph_engine/report.cpp
// Facts about a compiled graph, for callers that look these functions up by their plain names: the graph as JSON
// (TorchAir's deadlock check), and the streams that its scopes ask for (TorchAir's log).
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ge/ascend_string.h"
#include "graph_engine/call.h"
#include "graph_engine/session_data.h"
#include "graph_engine/summary.h"

namespace opwright::graph_engine {
namespace {

std::string describe(uint64_t handle, const char* what) {
  Answer answer;
  engine().describe(handle, what, &answer);
  check(answer);
  return answer.text;
}

}  // namespace
}  // namespace opwright::graph_engine

using namespace opwright::graph_engine;  // NOLINT: the twin's side of this interface
using Infos = std::map<ge::AscendString, std::vector<ge::AscendString>>;

extern "C" {

OPWRIGHT_API ge::Status GeSessionGraphDebugJSONPrint(ge::Session& session, uint32_t id, uint32_t,
                                                     ge::AscendString& json) {
  return guarded(
      "GeSessionGraphDebugJSONPrint",
      [&] {
        const auto graph = session_of(number_of(session))->find(id);
        graph->compile();
        json = ge::AscendString(describe(graph->handle(), "json").c_str());
      },
      opwright::arg("id", id));
}

// One line for each stream label, under the graph's name.
OPWRIGHT_API ge::Status GEStreamAllocationSummaryGetStringInfos(const ge::CompiledGraphSummary& summary, Infos& infos) {
  return guarded("GEStreamAllocationSummaryGetStringInfos", [&] {
    std::istringstream lines(describe(ge::SummaryAccess::data(summary).graph, "streams"));
    std::string name;
    std::getline(lines, name);
    auto& found = infos[ge::AscendString(name.c_str())];
    for (std::string line; std::getline(lines, line);) found.emplace_back(line.c_str());
  });
}
}
