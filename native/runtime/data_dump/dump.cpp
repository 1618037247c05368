// native/runtime/data_dump/dump.cpp
#include "runtime/data_dump/dump.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "acl/acl_base.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"
#include "runtime/trace.h"

namespace opwright::data_dump {

std::atomic<bool> dumps_operators{false};

namespace {

constexpr char kPrefix[] = "aclnn";

struct State {
  std::mutex mutex;
  std::shared_ptr<const Config> initial;
  std::shared_ptr<const Config> later;
  bool is_open = false;

  // Call with the mutex held.
  const std::shared_ptr<const Config>& active() const { return initial != nullptr ? initial : later; }
  void publish() const { dumps_operators.store(active() != nullptr && active()->single_operators); }
};

State& state() {
  static auto* const instance = new State();
  return *instance;
}

std::shared_ptr<const Config> active() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().active();
}

// Returns why a configuration is refused, and drops it, so that only one graph or operator is refused; empty if another
// thread was first.
std::string take_refusal(const std::shared_ptr<const Config>& config) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  if (state().later != config) return {};
  state().later = nullptr;
  state().publish();
  return config->refusal;
}

// Device and stream of the task that the calling thread runs.
struct Where {
  int device;
  int32_t stream;
};

// A graph that runs on its caller's thread has no stream, and may have no device.
Where here() noexcept {
  const Stream* const stream = Stream::current();
  if (stream != nullptr) return {stream->device(), stream->id()};
  try {
    return {current_device().id(), 0};
  } catch (const std::exception&) {
    return {0, 0};
  }
}

uint64_t next_task() noexcept {
  static std::atomic<uint64_t> next{0};
  return next.fetch_add(1);
}

std::string json_of(const Config& config, const std::vector<std::string>& layers) {
  std::string listed;
  for (const std::string& layer : layers) listed += (listed.empty() ? "" : ",") + trace::quote(layer);
  return text("{\"folder\":", trace::quote(config.target.folder), ",\"inputs\":", config.target.inputs ? 1 : 0,
              ",\"outputs\":", config.target.outputs ? 1 : 0, ",\"statistics\":", config.target.statistics ? 1 : 0,
              ",\"steps\":", trace::quote(config.steps), ",\"layers\":[", listed,
              "],\"overflowed\":", config.target.overflowed ? 1 : 0, "}");
}

// Of entries with this name the last counts; without one, those without a name.
const Model* model_for(const Config& config, const std::string& graph) {
  const auto named = [&](const std::string& name) -> const Model* {
    const auto it = std::find_if(config.models.rbegin(), config.models.rend(),
                                 [&](const Model& model) { return model.name == name; });
    return it == config.models.rend() ? nullptr : &*it;
  };
  const Model* const found = named(graph);
  return found != nullptr ? found : named("");
}

std::string plan(const std::string& graph) {
  const std::shared_ptr<const Config> config = active();
  if (config == nullptr) return {};
  const Model* const model = model_for(*config, graph);
  if (model == nullptr) return {};
  if (config->refusal.empty()) return json_of(*config, model->layers);
  const std::string refusal = take_refusal(config);
  return refusal.empty() ? refusal : text("{\"refusal\":", trace::quote(refusal), "}");
}

std::vector<Tensor> tensors_of(const OpwrightDumpTensor* begin, uint64_t count) {
  std::vector<Tensor> result;
  result.reserve(count);
  for (const OpwrightDumpTensor* each = begin; each != begin + count; ++each) {
    const std::vector<int64_t> sizes(each->sizes, each->sizes + each->rank);
    result.push_back({static_cast<aclDataType>(each->dtype), ACL_FORMAT_ND, sizes, sizes, 0, each->data, each->bytes});
  }
  return result;
}

}  // namespace

void set_initial(Config config) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().initial = std::make_shared<const Config>(std::move(config));
  state().publish();
}

void open() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  require(state().initial == nullptr, ACL_ERROR_DUMP_ALREADY_RUN, "aclInit has configured a dump already");
  state().is_open = true;
}

void set(Config config) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  require(state().is_open, ACL_ERROR_DUMP_NOT_RUN, "dumps are not initialised; call aclmdlInitDump first");
  state().later = std::make_shared<const Config>(std::move(config));
  state().publish();
}

void close() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().is_open = false;
  state().later = nullptr;
  state().publish();
}

void forget() noexcept {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().is_open = false;
  state().initial = nullptr;
  state().later = nullptr;
  state().publish();
}

std::shared_ptr<const Config> single_operators() {
  if (!dumps_operators.load(std::memory_order_relaxed)) return nullptr;
  std::shared_ptr<const Config> found = active();
  if (found == nullptr || !found->single_operators) return nullptr;
  if (found->refusal.empty()) return found;
  const std::string refusal = take_refusal(found);
  require(refusal.empty(), ACL_ERROR_FEATURE_UNSUPPORTED, "aclmdlSetDump: ", refusal);
  return nullptr;
}

void write_operator(const Target& target, const char* function, std::vector<Tensor> inputs,
                    std::vector<Tensor> outputs) noexcept {
  try {
    const Where where = here();
    const size_t prefix = std::strncmp(function, kPrefix, sizeof kPrefix - 1) == 0 ? sizeof kPrefix - 1 : 0;
    write({text(target.folder, '/', where.device), function + prefix, function, next_task(), where.stream, next_time(),
           std::move(inputs), std::move(outputs)},
          target.statistics);
  } catch (const std::exception& error) {
    report_failure(error);
  }
}

}  // namespace opwright::data_dump

using namespace opwright;             // NOLINT: the definitions of this library's C interface
using namespace opwright::data_dump;  // NOLINT

const char* opwright_dump_plan(const char* graph) {
  thread_local std::string answer;
  try {
    answer = plan(graph);
  } catch (const std::exception& error) {
    report_failure(error);
    answer.clear();
  }
  return answer.c_str();
}

const char* opwright_dump_folder(const char* folder, int32_t* failed) {
  thread_local std::string answer;
  *failed = 0;
  try {
    answer = folder_for_now(folder, ACL_ERROR_INVALID_FILE);
  } catch (const std::exception& error) {
    *failed = 1;
    answer = error.what();
  }
  return answer.c_str();
}

void opwright_dump_node(const OpwrightDumpNode* node) {
  try {
    const Where where = here();
    write({text(node->folder, '/', where.device, '/', in_file_names(node->graph), '/', node->graph_id, '/', node->step),
           node->type, node->name, node->task, where.stream, next_time(), tensors_of(node->tensors, node->input_count),
           tensors_of(node->tensors + node->input_count, node->output_count)},
          node->statistics != 0);
  } catch (const std::exception& error) {
    report_failure(error);
  }
}
