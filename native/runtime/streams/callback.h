// native/runtime/streams/callback.h
// Host callbacks: a stream hands a function over to the thread that has subscribed to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "acl/acl_rt.h"
#include "runtime/streams/stream.h"

namespace opwright {

void subscribe(uint64_t thread, const std::shared_ptr<Stream>& stream);
void unsubscribe(uint64_t thread, const std::shared_ptr<Stream>& stream);

// Enqueues; a blocking callback holds the stream until the subscribed thread has run it.
void launch_callback(aclrtCallback function, void* data, bool blocking, const std::shared_ptr<Stream>& stream);

// Runs the callbacks that wait for `thread`. False when none came within the timeout.
bool process_reports(uint64_t thread, Stream::Timeout timeout);

}  // namespace opwright
