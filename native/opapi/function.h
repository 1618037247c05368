// native/opapi/function.h
// A table line as data: the function's parameters, what their kinds do with them, and the body. The executors of all
// functions share their code (executor.cpp); the compiler makes a call of the body for each, and no more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "nnopbase/executor.h"
#include "opapi/kinds.h"
#include "opapi/signature.h"

namespace opwright::opapi {

// A kind's functions, on memory that holds its Stored and its Value. Where there is nothing to do, null.
struct Operations {
  void (*keep)(const void* argument, const char* name, void* stored);
  void (*copy)(const void* stored, void* copy);
  void (*drop)(void* stored) noexcept;
  void (*open)(const void* stored, const char* name, const Opening& opening, void* value);
  void (*end)(void* value) noexcept;
  bool (*is_steady)(const void* value, const void* stored);
  void (*close)(const void* value, const void* stored, const char* name);
  void (*check_shape)(const void* value, const void* stored, const char* name);
  void (*each_tensor)(void* stored, std::vector<std::vector<aclTensor*>>& tensors);
  std::string (*describe)(const void* stored);
  void (*sign)(const void* stored, Signature& signature);
  void (*commit)(const void* stored);
};

// False for kinds whose body sees what the executor keeps.
template <class Kind>
inline constexpr bool kIsOpened = !std::is_same_v<typename Kind::Value, const typename Kind::Stored>;

// True for kinds that change the caller's object, once phase 1 has accepted the call: they have a function `commit`.
template <class Kind, class = void>
inline constexpr bool kCommits = false;
template <class Kind>
inline constexpr bool kCommits<Kind, std::void_t<decltype(&Kind::commit)>> = true;

// The functions that Operations point to.
template <class Kind>
struct Erased {
  using Stored = typename Kind::Stored;
  using Value = typename Kind::Value;
  static const Stored& stored(const void* memory) { return *static_cast<const Stored*>(memory); }
  static const Value& value(const void* memory) { return *static_cast<const Value*>(memory); }

  static void keep(const void* argument, const char* name, void* memory) {
    new (memory) Stored(Kind::keep(*static_cast<const typename Kind::C*>(argument), name));
  }
  static void copy(const void* memory, void* copy) { new (copy) Stored(stored(memory)); }
  static void drop(void* memory) noexcept { static_cast<Stored*>(memory)->~Stored(); }
  static void open(const void* memory, const char* name, const Opening& opening, void* opened) {
    new (opened) Value(Kind::open(stored(memory), name, opening));
  }
  static void end(void* opened) noexcept { static_cast<Value*>(opened)->~Value(); }
  static bool is_steady(const void* opened, const void* memory) { return Kind::steady(value(opened), stored(memory)); }
  static void close(const void* opened, const void* memory, const char* name) {
    Kind::close(value(opened), stored(memory), name);
  }
  static void check_shape(const void* opened, const void* memory, const char* name) {
    kind::check_shape(Kind(), value(opened), stored(memory), name);
  }
  static void each_tensor(void* memory, std::vector<std::vector<aclTensor*>>& tensors) {
    Kind::each_tensor(*static_cast<Stored*>(memory), tensors);
  }
  static std::string describe(const void* memory) { return Kind::describe(stored(memory)); }
  static void sign(const void* memory, Signature& signature) { Kind::sign(stored(memory), signature); }
  static void commit(const void* memory) { Kind::commit(stored(memory)); }

  static constexpr Operations operations() {
    Operations result{keep,    copy,    nullptr, nullptr,  nullptr, nullptr,
                      nullptr, nullptr, nullptr, describe, sign,    nullptr};
    if constexpr (!std::is_trivially_destructible_v<Stored>) result.drop = drop;
    if constexpr (kIsOpened<Kind>) {
      result.open = open;
      result.end = end;
      result.is_steady = is_steady;
    }
    if constexpr (Kind::kRole == kind::Role::kOutput) {
      result.close = close;
      result.check_shape = check_shape;
    }
    if constexpr (Kind::kRole != kind::Role::kValue) result.each_tensor = each_tensor;
    if constexpr (kCommits<Kind>) result.commit = commit;
    return result;
  }
};

template <class Kind>
struct OperationsOf {
  static const Operations kOperations;
};
template <class Kind>
const Operations OperationsOf<Kind>::kOperations = Erased<Kind>::operations();

struct Parameter {
  const char* name = nullptr;
  const Operations* kind = nullptr;
  kind::Role role = kind::Role::kValue;
  Access access{};
  bool is_signed = true;  // decides whether phase 1 accepts a call
  bool is_simple = true;
  bool is_dynamic = false;  // an output whose shape only the computation knows
  bool is_group = false;
  bool commits = false;
  // Where an executor has them, from the beginning of its memory. A kind that is not opened has one place for both.
  uint32_t stored = 0;
  uint32_t value = 0;
};

template <size_t N>
struct ParameterList {
  std::array<Parameter, N> rows{};
  size_t bytes = 0;  // of an executor's memory
};

// The alignment of an executor's memory.
inline constexpr size_t kAlignment = alignof(std::max_align_t);

struct KindFacts {
  const Operations* operations;
  kind::Role role;
  Access access;
  bool is_simple, is_dynamic, is_opened, is_group, commits;
  size_t stored_size, stored_alignment, value_size, value_alignment;
};

template <class Kind>
inline constexpr KindFacts kFactsOf{&OperationsOf<Kind>::kOperations,
                                    Kind::kRole,
                                    Kind::kAccess,
                                    Kind::kSimple,
                                    std::is_same_v<Kind, kind::DynamicOut>,
                                    kIsOpened<Kind>,
                                    std::is_same_v<Kind, kind::Group>,
                                    kCommits<Kind>,
                                    sizeof(typename Kind::Stored),
                                    alignof(typename Kind::Stored),
                                    sizeof(typename Kind::Value),
                                    alignof(typename Kind::Value)};

constexpr bool are_equal(const char* a, const char* b) { return std::string_view(a) == b; }

constexpr size_t take(size_t& end, size_t size, size_t alignment) {
  const size_t begin = (end + alignment - 1) / alignment * alignment;
  end = begin + size;
  return begin;
}

template <size_t N>
constexpr ParameterList<N> lay_out(const KindFacts* const (&kinds)[N], const char* const (&names)[N]) {
  ParameterList<N> list;
  bool has_seed = false;
  for (const char* name : names) has_seed = has_seed || are_equal(name, "seed");
  for (size_t i = 0; i < N; ++i) {
    const KindFacts& kind = *kinds[i];
    Parameter& row = list.rows[i];
    row.name = names[i];
    row.kind = kind.operations;
    row.role = kind.role;
    row.access = kind.access;
    row.is_simple = kind.is_simple;
    row.is_dynamic = kind.is_dynamic;
    row.is_group = kind.is_group;
    row.commits = kind.commits;
    // A seed and the offset beside it are new in each call, and never refused.
    row.is_signed = !has_seed || !(are_equal(row.name, "seed") || are_equal(row.name, "offset"));
  }
  // Values, which replays use, stand together at the front: large graphs do not fit into a cache.
  for (size_t i = 0; i < N; ++i) {
    if (kinds[i]->is_opened) list.rows[i].value = take(list.bytes, kinds[i]->value_size, kinds[i]->value_alignment);
  }
  for (size_t i = 0; i < N; ++i) {
    list.rows[i].stored = take(list.bytes, kinds[i]->stored_size, kinds[i]->stored_alignment);
    if (!kinds[i]->is_opened) list.rows[i].value = list.rows[i].stored;
  }
  return list;
}

struct Function {
  const char* name;  // its address stands for the function
  const char* phase1;
  void (*run)(std::byte* memory);
  const Parameter* parameters;
  size_t count;
  size_t bytes;                      // of an executor's memory
  bool has_dry_run;                  // phase 1 may run the body as well
  bool has_tensors;                  // among its parameters
  bool is_simple;                    // all kinds are
  bool is_dynamic;                   // a parameter is
  size_t inputs = 0;                 // parameters that are input tensors
  const Parameter* group = nullptr;  // names the ranks that the operator meets
  bool commits = false;              // a parameter does

  const Parameter* begin() const noexcept { return parameters; }
  const Parameter* end() const noexcept { return parameters + count; }
};

template <class... Kinds>
struct KindList {};

template <class Kind>
typename Kind::Body body_argument(std::byte* memory, size_t place) {
  return Kind::get(*std::launder(reinterpret_cast<typename Kind::Value*>(memory + place)));
}

template <class Op, class... Kinds, size_t... I>
void run_body(std::byte* memory, KindList<Kinds...>, std::index_sequence<I...>) {
  Op::run(body_argument<Kinds>(memory, Op::kParameters.rows[I].value)...);
}

template <class Op>
void run_op(std::byte* memory) {
  run_body<Op>(memory, typename Op::Kinds(), std::make_index_sequence<Op::kParameters.rows.size()>());
}

template <class Op>
constexpr Function describe_function() {
  Function result{Op::kName,
                  Op::kPhase1,
                  run_op<Op>,
                  Op::kParameters.rows.data(),
                  Op::kParameters.rows.size(),
                  Op::kParameters.bytes,
                  Op::kDryRun,
                  /*has_tensors=*/false,
                  /*is_simple=*/true,
                  /*is_dynamic=*/false};
  for (const Parameter& parameter : Op::kParameters.rows) {
    if (parameter.role != kind::Role::kValue) result.has_tensors = true;
    if (parameter.role == kind::Role::kInput) ++result.inputs;
    if (!parameter.is_simple) result.is_simple = false;
    if (parameter.is_dynamic) result.is_dynamic = true;
    if (parameter.is_group) result.group = &parameter;
    if (parameter.commits) result.commits = true;
  }
  return result;
}

template <class Op>
inline constexpr Function kFunction = describe_function<Op>();

// Phase 1, called by the name `phase1`: `arguments` are the addresses of the caller's.
OPWRIGHT_API aclnnStatus prepare(const Function& function, const char* phase1, uint64_t* workspace_size,
                                 aclOpExecutor** executor, const void* const* arguments) noexcept;

}  // namespace opwright::opapi
