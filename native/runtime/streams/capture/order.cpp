// native/runtime/streams/capture/order.cpp
#include "runtime/streams/capture/order.h"

#include "runtime/python.h"
#include "runtime/trace.h"

namespace opwright {
namespace {

std::string to_json(const OrderDependence::Operand& operand) {
  return text("{\"parameter\":", trace::quote(operand.parameter), ",\"dtype\":", trace::quote(operand.dtype),
              ",\"shape\":", operand.sizes, ",\"strides\":", operand.strides, ",\"offset\":", operand.offset, "}");
}

}  // namespace

void report_order_dependences(const Capture& capture) {
  if (capture.order_dependences().empty()) return;
  std::string found;
  for (const OrderDependence& each : capture.order_dependences()) {
    found +=
        text(found.empty() ? "[" : ",", "{\"operation\":", trace::quote(each.operation), ",\"launch\":", each.launch,
             ",\"written\":", to_json(each.written), ",\"read\":", to_json(each.read), "}");
  }
  call_python("opwright.graph_report.rewrites", "warn", (found + "]").c_str(), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
              "");
}

}  // namespace opwright
