// runtime/Runtime.h: serialized models, run on the caller's memory without ATen. Nothing here throws: what fails gives
// null or false, and records an error.
#ifndef ASCENDIE_RUNTIME_RUNTIME_H
#define ASCENDIE_RUNTIME_RUNTIME_H

#include <cstddef>
#include <memory>

#include "common/Common.h"
#include "common/Dims.h"
#include "common/NoCopy.h"

namespace AscendIE {

struct EngineImpl;
struct ContextImpl;
struct Stream;
using aieStream = Stream*;

/// 0, or another number on failure. Work is done when it is enqueued: streams only keep the order.
ASCENDIE_API int CreateStream(aieStream* stream) noexcept;
ASCENDIE_API int SynchronizeStream(aieStream stream) noexcept;
ASCENDIE_API int DestroyStream(aieStream stream) noexcept;

/// One use of an engine: where its inputs and outputs are. For one thread at a time; an engine has any number of them.
class ASCENDIE_API Context : NoCopy {
 public:
  explicit Context(std::unique_ptr<ContextImpl> impl) noexcept;
  ~Context();

  /// Memory of an input or output, as many elements as its shape has, contiguous.
  bool SetTensorAddress(const char* name, void* data) noexcept;
  /// Of an input whose shape is not fixed.
  bool SetInputShape(const char* name, const Dims& shape) noexcept;
  /// An input's shape. An output's: as of the last run, or as the model declares it (-1: not fixed).
  Dims GetTensorShape(const char* name) const noexcept;
  /// Reads the inputs, runs the model and writes the outputs.
  bool Enqueue(aieStream stream) noexcept;
  size_t GetErrorsNum() const noexcept;
  const char* GetErrorByIndex(size_t index) const noexcept;

 private:
  std::unique_ptr<ContextImpl> impl_;
};

/// A loaded model. Immutable: contexts of it may run in several threads.
class ASCENDIE_API Engine : NoCopy {
 public:
  explicit Engine(std::shared_ptr<const EngineImpl> impl) noexcept;
  ~Engine();

  /// The caller owns the context; it may outlive the engine.
  Context* CreateContext() noexcept;
  size_t GetInputNum() const noexcept;
  size_t GetOutputNum() const noexcept;
  /// Null for an index that is too large.
  const char* GetInputName(size_t index) const noexcept;
  const char* GetOutputName(size_t index) const noexcept;
  /// UNKNOWN and no dimensions for a name that is neither an input nor an output.
  DataType GetDataType(const char* name) const noexcept;
  Dims GetShape(const char* name) const noexcept;

 private:
  std::shared_ptr<const EngineImpl> impl_;
};

class ASCENDIE_API Runtime : NoCopy {
 public:
  static Runtime* GetInstance() noexcept;
  /// The caller owns the engine. Null for bytes that are no model of this version.
  Engine* DeserializeEngineFromMem(const void* model, size_t size) noexcept;
  size_t GetErrorsNum() const noexcept;
  const char* GetErrorByIndex(size_t index) const noexcept;

  /// Programs put the instance into smart pointers: deleting the process's only one does nothing.
  static void operator delete(void* /*instance*/) noexcept {}
};

}  // namespace AscendIE
#endif
