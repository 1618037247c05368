// native/graph_engine/session_data.h
// The data behind ge::Session: its graphs and the allocators that callers registered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ge/allocator.h"
#include "ge/session.h"
#include "graph_engine/added_graph.h"

namespace opwright::graph_engine {

struct SessionData {
  explicit SessionData(const ge::Options& options);
  ~SessionData();
  SessionData(const SessionData&) = delete;
  SessionData& operator=(const SessionData&) = delete;

  void add(uint32_t id, std::shared_ptr<AddedGraph> graph);
  std::shared_ptr<AddedGraph> find(uint32_t id);
  void remove(uint32_t id);
  // The allocator of a stream, or nullptr.
  std::shared_ptr<ge::Allocator> allocator(const void* stream);
  void set_allocator(const void* stream, std::shared_ptr<ge::Allocator> allocator);

  const uint64_t number;
  const std::string options;  // of the engine and of the session

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<AddedGraph>> graphs_;
  std::map<const void*, std::shared_ptr<ge::Allocator>> allocators_;
};

// The session with this number, which is what ge::Session holds.
std::shared_ptr<SessionData> session_of(uint64_t id);
uint64_t add_session(const ge::Options& options);
void remove_session(uint64_t id);

// Options that hold for sessions that are made from now on.
void set_engine_options(std::string options);

// name=value lines.
std::string joined(const ge::Options& options);

}  // namespace opwright::graph_engine
