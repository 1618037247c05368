// native/graph_engine/added_graph.h
// A graph of a session, and the programs that the engine made of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "graph_engine/engine.h"
#include "graph_engine/run_tensors.h"
#include "graph_engine/summary.h"

namespace opwright::graph_engine {

// A graph for inputs of given shapes and values. Runs that are under way keep it.
class Program {
 public:
  explicit Program(Answer answer) : answer_(std::move(answer)) {}
  ~Program() {
    if (engine_is_there()) engine().forget(answer_.program);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  uint64_t id() const noexcept { return answer_.program; }
  const std::vector<Answer::Output>& outputs() const noexcept { return answer_.outputs; }
  bool launches() const noexcept { return answer_.launches; }
  const std::vector<size_t>& written_inputs() const noexcept { return answer_.written; }

 private:
  const Answer answer_;
};

// A graph of a session.
class AddedGraph {
 public:
  // `inherited` are the options of engine and session, which are checked when the graph is compiled.
  AddedGraph(uint64_t session, std::string model, std::string inherited, std::string options);
  ~AddedGraph();
  AddedGraph(const AddedGraph&) = delete;
  AddedGraph& operator=(const AddedGraph&) = delete;

  uint64_t handle() const noexcept { return handle_; }
  void compile();
  // The program for these inputs; the graph has to be compiled.
  std::shared_ptr<const Program> program(RunTensors& inputs);
  // Takes the options of the first run.
  void load(const std::string& options);
  std::shared_ptr<ge::SummaryData> summary() const;
  // The findings of compiling.
  const Answer& compiled() const;

 private:
  bool is_compiled() const;

  const uint64_t handle_;
  const uint64_t session_;
  const std::string model_;
  const std::string inherited_;
  const std::string options_;
  std::mutex compiling_;  // held while Python works, so never taken with its lock
  mutable std::mutex mutex_;
  bool compiled_ = false;
  Answer answer_;
  std::mutex programs_mutex_;
  std::map<std::string, std::shared_ptr<const Program>> programs_;
};

}  // namespace opwright::graph_engine
