// native/graph_engine/error_message.h
// The bridge between string ABIs: a C string is the same in both.
#pragma once

namespace opwright::graph_engine {

// Text of the thread's last failure, which is thereby taken; empty if there was none. Valid until the thread's next
// call.
const char* take_error_message();

}  // namespace opwright::graph_engine
