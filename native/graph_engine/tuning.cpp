// native/graph_engine/tuning.cpp
// libaoe_tuning, the interface of AOE, which searches the chip for faster tilings. TorchAir calls it once for each
// graph, before that is compiled. The twin's kernels have no tilings, so that each graph is one that holds nothing to
// tune: AOE has a status for that, and callers go on with the graph as it is.
//
// Names and statuses: the public headers of AOE that Ascend/torchair and MindSpore include.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "ge/ascend_string.h"
#include "ge/graph.h"
#include "ge/session.h"
#include "ge/tensor.h"
#include "runtime/call.h"

namespace {

using opwright::arg;
using opwright::call;
using opwright::require;
using Options = std::map<ge::AscendString, ge::AscendString>;

constexpr int32_t kInvalidParameter = 2;
constexpr int32_t kUninitialized = 3;
constexpr int32_t kInvalidSession = 5;
constexpr int32_t kNothingToTune = 8;

constexpr const char* kOperatorTuning = "2";  // job_type; 1, of subgraphs, TorchAir does not pass

// The options of a session.
struct Tuning {
  bool has_engine = false;
  bool has_graph = false;
};

struct State {
  std::mutex lock;
  bool initialized = false;
  uint64_t last = 0;
  std::map<uint64_t, Tuning> sessions;
};

State& state() {
  static State* const instance = new State;  // TorchAir finalizes from a static object's destructor
  return *instance;
}

void report_that_nothing_is_tuned() {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  if (reported.test_and_set()) return;
  std::fputs(
      "opwright: aoe_config: nothing is tuned. The twin's kernels have no tilings to choose from, and graphs run as "
      "they are.\n",
      stderr);
}

Tuning& session_at(State& all, uint64_t key) {
  const auto found = all.sessions.find(key);
  require(found != all.sessions.end(), kInvalidSession, "session ", key, " does not exist");
  return found->second;
}

template <class Body>
int32_t in_session(const char* function, uint64_t key, const Body& body) {
  return call(
      function,
      [&] {
        State& all = state();
        const std::lock_guard guard(all.lock);
        body(session_at(all, key));
      },
      arg("sessionKey", key));
}

}  // namespace

extern "C" {

// TorchAir initializes once more for each graph.
OPWRIGHT_API int32_t AoeInitialize(const Options& options) {
  return call("AoeInitialize", [&] {
    const auto job = options.find("job_type");
    require(job != options.end() && job->second == kOperatorTuning, kInvalidParameter, "job_type is '",
            job == options.end() ? "" : job->second.GetString(), "'; only ", kOperatorTuning,
            " (tuning of operators) is known");
    State& all = state();
    const std::lock_guard guard(all.lock);
    all.initialized = true;
  });
}

OPWRIGHT_API int32_t AoeFinalize() {
  return call("AoeFinalize", [] {
    State& all = state();
    const std::lock_guard guard(all.lock);
    all.initialized = false;
    all.sessions.clear();
  });
}

OPWRIGHT_API int32_t AoeCreateSession(uint64_t& key) {
  return call("AoeCreateSession", [&] {
    State& all = state();
    const std::lock_guard guard(all.lock);
    require(all.initialized, kUninitialized, "AoeInitialize comes first");
    key = ++all.last;
    all.sessions.emplace(key, Tuning{});
  });
}

OPWRIGHT_API int32_t AoeDestroySession(uint64_t key) {
  return call(
      "AoeDestroySession",
      [&] {
        State& all = state();
        const std::lock_guard guard(all.lock);
        require(all.sessions.erase(key) == 1, kInvalidSession, "session ", key, " does not exist");
      },
      arg("sessionKey", key));
}

OPWRIGHT_API int32_t AoeSetGeSession(uint64_t key, ge::Session* engine) {
  return in_session("AoeSetGeSession", key, [&](Tuning& tuning) {
    require(engine != nullptr, kInvalidParameter, "parameter 'geSession' is null");
    tuning.has_engine = true;
  });
}

OPWRIGHT_API int32_t AoeSetDependGraphs(uint64_t key, const std::vector<ge::Graph>&) {
  return in_session("AoeSetDependGraphs", key, [](Tuning&) {});
}

OPWRIGHT_API int32_t AoeSetDependGraphsInputs(uint64_t key, const std::vector<std::vector<ge::Tensor>>&) {
  return in_session("AoeSetDependGraphsInputs", key, [](Tuning&) {});
}

OPWRIGHT_API int32_t AoeSetTuningGraph(uint64_t key, const ge::Graph& graph) {
  return in_session("AoeSetTuningGraph", key, [&](Tuning& tuning) {
    require(graph.IsValid(), kInvalidParameter, "the graph is empty");
    tuning.has_graph = true;
  });
}

OPWRIGHT_API int32_t AoeSetTuningGraphInput(uint64_t key, const std::vector<ge::Tensor>&) {
  return in_session("AoeSetTuningGraphInput", key, [](Tuning&) {});
}

OPWRIGHT_API int32_t AoeTuningGraph(uint64_t key, const Options&) {
  const int32_t status = in_session("AoeTuningGraph", key, [](const Tuning& tuning) {
    require(tuning.has_engine && tuning.has_graph, kInvalidParameter,
            "AoeSetGeSession and AoeSetTuningGraph come first");
  });
  if (status != 0) return status;
  report_that_nothing_is_tuned();
  return kNothingToTune;
}
}
