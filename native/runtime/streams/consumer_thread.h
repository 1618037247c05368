// native/runtime/streams/consumer_thread.h
// torch_npu's task queue hands calls over to a consumer thread of its own. When one of them answers an error there,
// torch_npu ends its queue for the rest of the process: every later operator is dropped and its result is whatever the
// memory held. So an error that belongs to a stream is, on that thread, left on the stream: the next synchronizing call
// reports it with the operator's name, and the operator after that works. On every other thread the caller gets the
// code.
#pragma once

#include <utility>

#include "runtime/call.h"

namespace opwright {

// True on torch_npu's consumer thread.
OPWRIGHT_API bool on_consumer_thread() noexcept;

// Enqueues a task called `function` that fails with `error`.
OPWRIGHT_API void fail_on_stream(const char* function, aclrtStream stream, const Error& error);

// Throws 107031 while the calling thread may not use the default stream because a graph is being captured.
OPWRIGHT_API void require_default_stream_usable();

// `call` for functions that enqueue work on a stream.
template <class Body, class... Args>
int call_on_stream(const char* function, aclrtStream stream, Body&& body, const Args&... args) noexcept {
  return call(
      function,
      [&] {
        try {
          if (stream == nullptr) require_default_stream_usable();
          std::forward<Body>(body)();
        } catch (const Error& error) {
          if (!on_consumer_thread()) throw;
          fail_on_stream(function, stream, error);
        }
      },
      args..., arg("stream", stream));
}

}  // namespace opwright
