// native/tdt/api.cpp
// The acltdt* functions.
#include <algorithm>

#include "runtime/call.h"
#include "tdt/channel.h"
#include "tdt/dataset.h"

using namespace opwright;

namespace {

template <class T>
T& checked(T* pointer, const char* name) {
  return out(pointer, name, ACL_ERROR_INVALID_PARAM);
}

// A property of an item or dataset, or `fallback` if the pointer is null.
template <class T, class Result, class Read>
Result read(const char* function, const char* parameter, T* pointer, Result fallback, const Read& property) {
  call(function, [&] { fallback = property(checked(pointer, parameter)); });
  return fallback;
}

tdt::Channel::Timeout timeout_of(int32_t milliseconds) {
  require(milliseconds >= -1, ACL_ERROR_INVALID_PARAM, "parameter 'timeout' is ", milliseconds,
          "; allowed are milliseconds, and -1 to wait for ever");
  if (milliseconds == -1) return std::nullopt;
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace

acltdtDataItem* acltdtCreateDataItem(acltdtTensorType tdtType, const int64_t* dims, size_t dimNum, aclDataType dataType,
                                     void* data, size_t size) {
  acltdtDataItem* created = nullptr;
  call(
      "acltdtCreateDataItem",
      [&] {
        require(dims != nullptr || dimNum == 0, ACL_ERROR_INVALID_PARAM, "parameter 'dims' is null with dimNum ",
                dimNum);
        require(data != nullptr || size == 0, ACL_ERROR_INVALID_PARAM, "parameter 'data' is null with size ", size);
        auto item = std::make_unique<acltdtDataItem>();
        item->tensor_type = tdtType;
        item->dims.assign(dims, dims + dimNum);
        item->data_type = dataType;
        item->data = data;
        item->size = size;
        created = item.release();
      },
      arg("tdtType", tdtType), arg("dataType", dataType), arg("size", size));
  return created;
}

aclError acltdtDestroyDataItem(acltdtDataItem* dataItem) {
  return call("acltdtDestroyDataItem",
              [&] { std::unique_ptr<acltdtDataItem>{&checked(dataItem, "dataItem")}.reset(); });
}

acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem* dataItem) {
  return read("acltdtGetTensorTypeFromItem", "dataItem", dataItem, ACL_TENSOR_DATA_UNDEFINED,
              [](const acltdtDataItem& item) { return item.tensor_type; });
}

aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem* dataItem) {
  return read("acltdtGetDataTypeFromItem", "dataItem", dataItem, ACL_DT_UNDEFINED,
              [](const acltdtDataItem& item) { return item.data_type; });
}

void* acltdtGetDataAddrFromItem(const acltdtDataItem* dataItem) {
  return read("acltdtGetDataAddrFromItem", "dataItem", dataItem, static_cast<void*>(nullptr),
              [](const acltdtDataItem& item) { return item.data; });
}

size_t acltdtGetDataSizeFromItem(const acltdtDataItem* dataItem) {
  return read("acltdtGetDataSizeFromItem", "dataItem", dataItem, size_t{0},
              [](const acltdtDataItem& item) { return item.size; });
}

size_t acltdtGetDimNumFromItem(const acltdtDataItem* dataItem) {
  return read("acltdtGetDimNumFromItem", "dataItem", dataItem, size_t{0},
              [](const acltdtDataItem& item) { return item.dims.size(); });
}

aclError acltdtGetDimsFromItem(const acltdtDataItem* dataItem, int64_t* dims, size_t dimNum) {
  return call(
      "acltdtGetDimsFromItem",
      [&] {
        const std::vector<int64_t>& source = checked(dataItem, "dataItem").dims;
        require(dimNum >= source.size(), ACL_ERROR_INVALID_PARAM, "parameter 'dimNum' is ", dimNum,
                " but the item has ", source.size(), " dimensions");
        require(dims != nullptr || source.empty(), ACL_ERROR_INVALID_PARAM, "parameter 'dims' is null");
        std::copy(source.begin(), source.end(), dims);
      },
      arg("dimNum", dimNum));
}

acltdtDataset* acltdtCreateDataset() {
  acltdtDataset* created = nullptr;
  call("acltdtCreateDataset", [&] { created = std::make_unique<acltdtDataset>().release(); });
  return created;
}

aclError acltdtDestroyDataset(acltdtDataset* dataset) {
  return call("acltdtDestroyDataset", [&] { std::unique_ptr<acltdtDataset>{&checked(dataset, "dataset")}.reset(); });
}

aclError acltdtAddDataItem(acltdtDataset* dataset, acltdtDataItem* dataItem) {
  return call("acltdtAddDataItem",
              [&] { checked(dataset, "dataset").items.push_back(&checked(dataItem, "dataItem")); });
}

acltdtDataItem* acltdtGetDataItem(const acltdtDataset* dataset, size_t index) {
  return read("acltdtGetDataItem", "dataset", dataset, static_cast<acltdtDataItem*>(nullptr),
              [index](const acltdtDataset& set) {
                require(index < set.items.size(), ACL_ERROR_INVALID_PARAM, "parameter 'index' is ", index,
                        " but the dataset has ", set.items.size(), " items");
                return set.items[index];
              });
}

const char* acltdtGetDatasetName(const acltdtDataset* dataset) {
  return read("acltdtGetDatasetName", "dataset", dataset, static_cast<const char*>(nullptr),
              [](const acltdtDataset& set) { return set.name.c_str(); });
}

size_t acltdtGetDatasetSize(const acltdtDataset* dataset) {
  return read("acltdtGetDatasetSize", "dataset", dataset, size_t{0},
              [](const acltdtDataset& set) { return set.items.size(); });
}

acltdtChannelHandle* acltdtCreateChannelWithCapacity(uint32_t deviceId, const char* name, size_t capacity) {
  acltdtChannelHandle* handle = nullptr;
  call(
      "acltdtCreateChannelWithCapacity",
      [&] { handle = tdt::open_channel(deviceId, &checked(name, "name"), capacity); }, arg("deviceId", deviceId),
      arg("name", name), arg("capacity", capacity));
  return handle;
}

aclError acltdtDestroyChannel(acltdtChannelHandle* handle) {
  return call("acltdtDestroyChannel", [&] { tdt::close_channel(handle); }, arg("handle", handle));
}

aclError acltdtStopChannel(acltdtChannelHandle* handle) {
  return call("acltdtStopChannel", [&] { tdt::channel_of(handle)->stop(); }, arg("handle", handle));
}

aclError acltdtCleanChannel(acltdtChannelHandle* handle) {
  return call("acltdtCleanChannel", [&] { tdt::channel_of(handle)->clear(); }, arg("handle", handle));
}

aclError acltdtQueryChannelSize(const acltdtChannelHandle* handle, size_t* size) {
  return call(
      "acltdtQueryChannelSize", [&] { checked(size, "size") = tdt::channel_of(handle)->size(); },
      arg("handle", handle));
}

aclError acltdtSendTensor(const acltdtChannelHandle* handle, const acltdtDataset* dataset, int32_t timeout) {
  return call(
      "acltdtSendTensor",
      [&] { tdt::channel_of(handle)->send(tdt::message_from(checked(dataset, "dataset")), timeout_of(timeout)); },
      arg("handle", handle), arg("timeout", timeout));
}

aclError acltdtReceiveTensor(const acltdtChannelHandle* handle, acltdtDataset* dataset, int32_t timeout) {
  return call(
      "acltdtReceiveTensor",
      [&] {
        acltdtDataset& target = checked(dataset, "dataset");
        tdt::move_into(target, tdt::channel_of(handle)->receive(timeout_of(timeout)));
      },
      arg("handle", handle), arg("timeout", timeout));
}
