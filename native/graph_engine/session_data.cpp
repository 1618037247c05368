// native/graph_engine/session_data.cpp
#include "graph_engine/session_data.h"

#include <atomic>
#include <utility>

#include "runtime/handle.h"

namespace opwright::graph_engine {
namespace {

std::atomic<uint64_t> next_number{1};

Handles<SessionData>& sessions() {
  static auto* const instance = new Handles<SessionData>("session", kFailed);
  return *instance;
}

std::mutex engine_options_mutex;

std::string& stored_engine_options() {
  static auto* const instance = new std::string();
  return *instance;
}

std::string engine_options() {
  const std::lock_guard<std::mutex> lock(engine_options_mutex);
  return stored_engine_options();
}

}  // namespace

SessionData::SessionData(const ge::Options& options)
    : number(next_number.fetch_add(1)), options(engine_options() + joined(options)) {}

SessionData::~SessionData() {
  graphs_.clear();
  if (engine_is_there()) engine().close(number);
}

void SessionData::add(uint32_t id, std::shared_ptr<AddedGraph> graph) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require(graphs_.emplace(id, std::move(graph)).second, kFailed, "the session has a graph ", id, " already");
}

std::shared_ptr<AddedGraph> SessionData::find(uint32_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = graphs_.find(id);
  require(it != graphs_.end(), kFailed, "the session has no graph ", id);
  return it->second;
}

void SessionData::remove(uint32_t id) {
  const auto graph = find(id);  // outlives the lock: its end calls the engine
  const std::lock_guard<std::mutex> lock(mutex_);
  graphs_.erase(id);
}

std::shared_ptr<ge::Allocator> SessionData::allocator(const void* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = allocators_.find(stream);
  return it == allocators_.end() ? nullptr : it->second;
}

void SessionData::set_allocator(const void* stream, std::shared_ptr<ge::Allocator> allocator) {
  const std::lock_guard<std::mutex> lock(mutex_);
  allocators_[stream] = std::move(allocator);
}

std::shared_ptr<SessionData> session_of(uint64_t id) { return sessions().find(reinterpret_cast<const void*>(id)); }

uint64_t add_session(const ge::Options& options) {
  return reinterpret_cast<uint64_t>(sessions().add(std::make_shared<SessionData>(options)));
}

void remove_session(uint64_t id) { sessions().remove_if_live(reinterpret_cast<const void*>(id)); }

void set_engine_options(std::string options) {
  const std::lock_guard<std::mutex> lock(engine_options_mutex);
  stored_engine_options() = std::move(options);
}

std::string joined(const ge::Options& options) {
  std::string result;
  for (const auto& [key, value] : options) result += text(key.GetString(), "=", value.GetString(), "\n");
  return result;
}

}  // namespace opwright::graph_engine
