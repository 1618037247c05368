// npu.cpp: streams of the device npu, whoever made it: PyTorch's interface of devices leads to torch_npu's or to ours.
#include "../device/npu.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <tuple>

#include "npu.h"

namespace py = pybind11;

namespace {

using torch_aie::device::kNpu;
using torch_aie::device::Owner;
using Guard = c10::impl::VirtualGuardImpl;
/// Index of the device, number of the stream.
using StreamRow = std::tuple<int, int64_t>;

c10::Device device_of(int index) { return {kNpu, static_cast<c10::DeviceIndex>(index)}; }

StreamRow row_of(const c10::Stream& stream) { return {stream.device_index(), stream.id()}; }

c10::Stream stream_of(const StreamRow& row) {
  const auto& [index, id] = row;
  return c10::Stream(c10::Stream::UNSAFE, device_of(index), id);
}

}  // namespace

void bind_npu(py::module_& module) {
  torch_aie::device::defer();  // Python makes the device, when it is first asked for
  module.def("register_npu", torch_aie::device::register_npu);
  module.def("owns_npu", [] { return torch_aie::device::owner() == Owner::kTorchAie; });
  module.def("current_device", [] { return static_cast<int>(Guard(kNpu).getDevice().index()); });
  module.def("device_count", [] { return static_cast<int>(Guard(kNpu).deviceCount()); });
  module.def("new_stream", [](int index) { return row_of(Guard(kNpu).getStreamFromGlobalPool(device_of(index))); });
  module.def("current_stream", [](int index) { return row_of(Guard(kNpu).getStream(device_of(index))); });
  module.def("default_stream", [](int index) { return row_of(Guard(kNpu).getDefaultStream(device_of(index))); });
  module.def("set_stream", [](const StreamRow& row) { Guard(kNpu).exchangeStream(stream_of(row)); });
  module.def("query_stream", [](const StreamRow& row) { return Guard(kNpu).queryStream(stream_of(row)); });
  module.def("synchronize_stream", [](const StreamRow& row) {
    const py::gil_scoped_release released;
    Guard(kNpu).synchronizeStream(stream_of(row));
  });
}
