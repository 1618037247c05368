// native/graph_engine/custom/registry.cpp
// The tables behind REG_OP and REG_AUTO_MAPPING_OP, which objects of loaded libraries fill and leave.
#include "graph_engine/custom/registry.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "graph/operator_reg.h"

namespace opwright::graph_engine {
namespace {

// Entries of one kind by type. The last one that was added counts, as that of a library that was built anew.
template <class Value>
class Entries {
 public:
  void add(const void* owner, const std::string& type, Value value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    remove_locked(owner);
    entries_.push_back({owner, type, std::move(value)});
  }
  void remove(const void* owner) {
    const std::lock_guard<std::mutex> lock(mutex_);
    remove_locked(owner);
  }
  std::optional<Value> find(const std::string& type) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) { return entry.type == type; });
    if (found == entries_.rend()) return std::nullopt;
    return found->value;
  }

 private:
  struct Entry {
    const void* owner;
    std::string type;
    Value value;
  };
  void remove_locked(const void* owner) {
    const auto is_owned = [owner](const Entry& entry) { return entry.owner == owner; };
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_owned), entries_.end());
  }

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

// Never destroyed: libraries that are unloaded when the process ends still use them.
Entries<std::string>& prototypes() {
  static auto* const entries = new Entries<std::string>();
  return *entries;
}

Entries<CustomOperator::Make>& classes() {
  static auto* const entries = new Entries<CustomOperator::Make>();
  return *entries;
}

}  // namespace

DeclaredPrototype::DeclaredPrototype(const char* type) : type_(type) {}
DeclaredPrototype::~DeclaredPrototype() { prototypes().remove(this); }

DeclaredPrototype& DeclaredPrototype::add(const char* part) {
  text_ += part;
  text_ += '\n';
  prototypes().add(this, type_, text_);
  return *this;
}

CustomOperator::CustomOperator(const char* type, Make make) { classes().add(this, type, make); }
CustomOperator::~CustomOperator() { classes().remove(this); }

std::optional<std::string> declared_prototype(const std::string& type) { return prototypes().find(type); }
bool has_custom_operator(const std::string& type) { return classes().find(type).has_value(); }

std::unique_ptr<ge::EagerExecuteOp> make_custom_operator(const std::string& type) {
  const auto make = classes().find(type);
  return make ? (*make)() : nullptr;
}

}  // namespace opwright::graph_engine
