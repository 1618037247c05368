// native/collective/collectives.cpp
// Collective and point-to-point operations: checks of their arguments, and the tasks that run them.
#include <algorithm>
#include <optional>

#include "collective/algorithms.h"
#include "collective/data_type.h"
#include "collective/operation.h"
#include "hccl/hccl.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/consumer_thread.h"

using namespace opwright;
using namespace opwright::collective;

namespace {

constexpr int32_t kNone = Agreement::kNone;

// The parts of a call before it becomes an operation.
class Builder {
 public:
  Builder(const char* function, HcclComm comm, Call call, HcclDataType type, int32_t op = kNone,
          std::optional<uint32_t> root = std::nullopt) {
    require(comm != nullptr, HCCL_E_PTR, "parameter 'comm' is null");
    operation_.function = function;
    operation_.communicator = communicators().find(comm);
    if (root) require_rank(*root, "root");
    operation_.agreement = {call, type, op, root ? static_cast<int32_t>(*root) : kNone, 0};
    element_ = size_of(type);
    if (op != kNone) require_reducible(type, static_cast<HcclReduceOp>(op));
  }

  uint32_t ranks() const { return operation_.communicator->size(); }
  uint32_t rank() const { return operation_.communicator->rank(); }
  size_t element() const { return element_; }

  void require_rank(uint32_t rank, const char* name) const {
    require(rank < ranks(), HCCL_E_PARA, "parameter '", name, "' is ", rank, ", but communicator '",
            operation_.communicator->name(), "' has ", ranks(), " rank(s)");
  }

  size_t bytes(uint64_t count, size_t element) const {
    constexpr uint64_t kMost = uint64_t{1} << 44;
    require(count <= kMost, HCCL_E_PARA, "a count of ", count, " elements is not possible");
    return count * element;
  }
  size_t bytes(uint64_t count) const { return bytes(count, element_); }

  // Where the host reaches the buffer; a buffer of no bytes is not looked at.
  const void* read(const void* address, size_t bytes, const char* name) { return reach(address, bytes, name, false); }
  void* write(const void* address, size_t bytes, const char* name) { return reach(address, bytes, name, true); }

  void add(const Item& item) { operation_.items.push_back(item); }

  template <class Body>
  void submit(aclrtStream stream, Body body) {
    operation_.body = std::move(body);
    collective::submit(std::move(operation_), stream_of(stream));
  }
  void submit(aclrtStream stream) { collective::submit(std::move(operation_), stream_of(stream)); }

 private:
  void* reach(const void* address, size_t bytes, const char* name, bool written) {
    if (bytes == 0) return nullptr;
    require(address != nullptr, HCCL_E_PTR, "parameter '", name, "' is null");
    operation_.ranges.push_back({address, bytes, !written, written, name});
    return memory::checked_alias(address, bytes, name, HCCL_E_PARA);
  }

  Operation operation_;
  size_t element_ = 0;
};

template <class Body, class... Args>
HcclResult run(const char* function, aclrtStream stream, Body&& body, const Args&... args) {
  return static_cast<HcclResult>(call_on_stream(function, stream, std::forward<Body>(body), args...));
}

Pieces equal_pieces(uint32_t ranks, size_t bytes) {
  Pieces pieces;
  for (uint32_t r = 0; r < ranks; ++r) pieces.push_back({r * bytes, bytes});
  return pieces;
}

// From arrays of elements on the host, one entry for each rank.
Pieces listed_pieces(const Builder& builder, const void* counts, const void* offsets, size_t element,
                     const char* name) {
  require(counts != nullptr && offsets != nullptr, HCCL_E_PTR, "the counts or displacements of '", name, "' are null");
  const auto* const count = static_cast<const uint64_t*>(counts);
  const auto* const offset = static_cast<const uint64_t*>(offsets);
  Pieces pieces;
  for (uint32_t r = 0; r < builder.ranks(); ++r) {
    pieces.push_back({builder.bytes(offset[r], element), builder.bytes(count[r], element)});
  }
  return pieces;
}

size_t extent(const Pieces& pieces) {
  size_t end = 0;
  for (const Piece& piece : pieces) {
    if (piece.bytes > 0) end = std::max(end, piece.offset + piece.bytes);
  }
  return end;
}

void require_apart(const void* source, size_t sent, const void* target, size_t received, const char* what) {
  const auto first = reinterpret_cast<uintptr_t>(source);
  const auto second = reinterpret_cast<uintptr_t>(target);
  require(sent == 0 || received == 0 || first + sent <= second || second + received <= first, HCCL_E_PARA,
          "sendBuf and recvBuf overlap, ", what);
}

void submit_all_to_all(Builder& builder, const void* source, Pieces sent, const void* target, Pieces received,
                       aclrtStream stream) {
  const size_t self = builder.rank();
  require(sent[self].bytes == received[self].bytes, HCCL_E_PARA, "rank ", self, " sends ", sent[self].bytes,
          " bytes to itself, but receives ", received[self].bytes);
  require_apart(source, extent(sent), target, extent(received), "which an all-to-all cannot do in place");
  const void* const from = builder.read(source, extent(sent), "sendBuf");
  void* const to = builder.write(target, extent(received), "recvBuf");
  builder.submit(stream, [from, to, sent = std::move(sent), received = std::move(received)](Exchange& exchange) {
    all_to_all(exchange, from, sent, to, received);
  });
}

void submit_all_gather(Builder& builder, const void* source, const void* target, Pieces pieces, aclrtStream stream) {
  const size_t bytes = pieces[builder.rank()].bytes;
  const void* const from = builder.read(source, bytes, "sendBuf");
  void* const to = builder.write(target, extent(pieces), "recvBuf");
  for (uint32_t peer = 0; peer < builder.ranks(); ++peer) {
    if (peer == builder.rank()) continue;
    require_apart(from, bytes, static_cast<const char*>(to) + pieces[peer].offset, pieces[peer].bytes,
                  "where another rank's piece is received; allowed: apart, or sendBuf as the own piece of recvBuf");
  }
  builder.submit(
      stream, [from, to, pieces = std::move(pieces)](Exchange& exchange) { all_gather(exchange, from, to, pieces); });
}

// Both types may be named; HCCL documents that they have to be the same.
void require_same(HcclDataType send, HcclDataType receive) {
  require(send == receive, HCCL_E_PARA, "parameter 'sendType' is ", name_of(send), ", but 'recvType' is ",
          name_of(receive), "; allowed: the same type");
}

Item transfer(Builder& builder, bool send, void* buffer, uint64_t count, HcclDataType type, uint32_t peer) {
  const size_t bytes = builder.bytes(count, size_of(type));
  builder.require_rank(peer, send ? "destRank" : "srcRank");
  void* const data =
      send ? const_cast<void*>(builder.read(buffer, bytes, "sendBuf")) : builder.write(buffer, bytes, "recvBuf");
  return {send, peer, type, data, bytes};
}

}  // namespace

HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream) {
  return run(
      "HcclAllGather", stream,
      [&] {
        Builder builder("HcclAllGather", comm, Call::kAllGather, dataType);
        submit_all_gather(builder, sendBuf, recvBuf, equal_pieces(builder.ranks(), builder.bytes(sendCount)), stream);
      },
      arg("sendCount", sendCount), arg("dataType", dataType));
}

HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                          const void* recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  return run(
      "HcclAllGatherV", stream,
      [&] {
        Builder builder("HcclAllGatherV", comm, Call::kAllGatherV, dataType);
        Pieces pieces = listed_pieces(builder, recvCounts, recvDispls, builder.element(), "recvBuf");
        const size_t bytes = builder.bytes(sendCount);
        require(bytes == pieces[builder.rank()].bytes, HCCL_E_PARA, "parameter 'sendCount' is ", sendCount,
                ", but recvCounts[", builder.rank(), "] is ", pieces[builder.rank()].bytes / builder.element());
        submit_all_gather(builder, sendBuf, recvBuf, std::move(pieces), stream);
      },
      arg("sendCount", sendCount), arg("dataType", dataType));
}

HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream) {
  return run(
      "HcclAllReduce", stream,
      [&] {
        Builder builder("HcclAllReduce", comm, Call::kAllReduce, dataType, op);
        const void* const source = builder.read(sendBuf, builder.bytes(count), "sendBuf");
        void* const target = builder.write(recvBuf, builder.bytes(count), "recvBuf");
        builder.submit(stream, [=](Exchange& exchange) { all_reduce(exchange, source, target, count); });
      },
      arg("count", count), arg("dataType", dataType), arg("op", op));
}

HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType, const void* recvBuf,
                        uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  return run(
      "HcclAlltoAll", stream,
      [&] {
        Builder builder("HcclAlltoAll", comm, Call::kAlltoAll, sendType);
        require_same(sendType, recvType);
        require(sendCount == recvCount, HCCL_E_PARA, "parameter 'sendCount' is ", sendCount, ", but 'recvCount' is ",
                recvCount, "; allowed: the same count");
        const Pieces pieces = equal_pieces(builder.ranks(), builder.bytes(sendCount));
        submit_all_to_all(builder, sendBuf, pieces, recvBuf, pieces, stream);
      },
      arg("sendCount", sendCount), arg("sendType", sendType));
}

HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls, HcclDataType sendType,
                         const void* recvBuf, const void* recvCounts, const void* rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream) {
  return run(
      "HcclAlltoAllV", stream,
      [&] {
        Builder builder("HcclAlltoAllV", comm, Call::kAlltoAllV, sendType);
        require_same(sendType, recvType);
        submit_all_to_all(builder, sendBuf, listed_pieces(builder, sendCounts, sdispls, builder.element(), "sendBuf"),
                          recvBuf, listed_pieces(builder, recvCounts, rdispls, builder.element(), "recvBuf"), stream);
      },
      arg("sendType", sendType));
}

HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType, const void* recvBuf,
                          HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  return run(
      "HcclAlltoAllVC", stream,
      [&] {
        Builder builder("HcclAlltoAllVC", comm, Call::kAlltoAllVC, sendType);
        require_same(sendType, recvType);
        require(sendCountMatrix != nullptr, HCCL_E_PTR, "parameter 'sendCountMatrix' is null");
        const auto* const matrix = static_cast<const uint64_t*>(sendCountMatrix);  // row: sender, column: receiver
        Pieces sent;
        Pieces received;
        size_t sent_end = 0;
        size_t received_end = 0;
        for (uint32_t peer = 0; peer < builder.ranks(); ++peer) {
          sent.push_back({sent_end, builder.bytes(matrix[builder.rank() * builder.ranks() + peer])});
          received.push_back({received_end, builder.bytes(matrix[peer * builder.ranks() + builder.rank()])});
          sent_end += sent.back().bytes;
          received_end += received.back().bytes;
        }
        submit_all_to_all(builder, sendBuf, std::move(sent), recvBuf, std::move(received), stream);
      },
      arg("sendType", sendType));
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  return run("HcclBarrier", stream,
             [&] { Builder("HcclBarrier", comm, Call::kBarrier, HCCL_DATA_TYPE_INT8).submit(stream, barrier); });
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream) {
  return run(
      "HcclBatchSendRecv", stream,
      [&] {
        Builder builder("HcclBatchSendRecv", comm, Call::kPointToPoint, HCCL_DATA_TYPE_INT8);
        require(itemNum == 0 || sendRecvInfo != nullptr, HCCL_E_PTR, "parameter 'sendRecvInfo' is null");
        require(itemNum > 0, HCCL_E_PARA, "parameter 'itemNum' is 0; a batch has at least one send or receive");
        for (uint32_t i = 0; i < itemNum; ++i) {
          const HcclSendRecvItem& item = sendRecvInfo[i];
          require(item.sendRecvType == HCCL_SEND || item.sendRecvType == HCCL_RECV, HCCL_E_PARA, "item ", i,
                  " has the type ", static_cast<int>(item.sendRecvType), "; allowed: 0 (send), 1 (receive)");
          builder.add(
              transfer(builder, item.sendRecvType == HCCL_SEND, item.buf, item.count, item.dataType, item.remoteRank));
        }
        builder.submit(stream);
      },
      arg("itemNum", itemNum));
}

HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream) {
  return run(
      "HcclBroadcast", stream,
      [&] {
        Builder builder("HcclBroadcast", comm, Call::kBroadcast, dataType, kNone, root);
        const size_t bytes = builder.bytes(count);
        void* const data = builder.rank() == root ? const_cast<void*>(builder.read(buf, bytes, "buf"))
                                                  : builder.write(buf, bytes, "buf");
        builder.submit(stream, [=](Exchange& exchange) { broadcast(exchange, data, bytes, root); });
      },
      arg("count", count), arg("dataType", dataType), arg("root", root));
}

HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                    aclrtStream stream) {
  return run(
      "HcclRecv", stream,
      [&] {
        Builder builder("HcclRecv", comm, Call::kPointToPoint, dataType);
        builder.add(transfer(builder, /*send=*/false, recvBuf, count, dataType, srcRank));
        builder.submit(stream);
      },
      arg("count", count), arg("dataType", dataType), arg("srcRank", srcRank));
}

HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream) {
  return run(
      "HcclReduce", stream,
      [&] {
        Builder builder("HcclReduce", comm, Call::kReduce, dataType, op, root);
        const void* const source = builder.read(sendBuf, builder.bytes(count), "sendBuf");
        void* const target = builder.rank() == root ? builder.write(recvBuf, builder.bytes(count), "recvBuf") : nullptr;
        builder.submit(stream, [=](Exchange& exchange) { reduce_to_root(exchange, source, target, count, root); });
      },
      arg("count", count), arg("dataType", dataType), arg("op", op), arg("root", root));
}

HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream) {
  return run(
      "HcclReduceScatter", stream,
      [&] {
        Builder builder("HcclReduceScatter", comm, Call::kReduceScatter, dataType, op);
        const size_t bytes = builder.bytes(recvCount);
        const void* const source = builder.read(sendBuf, bytes * builder.ranks(), "sendBuf");
        void* const target = builder.write(recvBuf, bytes, "recvBuf");
        builder.submit(stream, [=, pieces = equal_pieces(builder.ranks(), bytes)](Exchange& exchange) {
          reduce_scatter(exchange, source, target, pieces);
        });
      },
      arg("recvCount", recvCount), arg("dataType", dataType), arg("op", op));
}

HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls, void* recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream) {
  return run(
      "HcclReduceScatterV", stream,
      [&] {
        Builder builder("HcclReduceScatterV", comm, Call::kReduceScatterV, dataType, op);
        Pieces pieces = listed_pieces(builder, sendCounts, sendDispls, builder.element(), "sendBuf");
        const size_t bytes = builder.bytes(recvCount);
        require(bytes == pieces[builder.rank()].bytes, HCCL_E_PARA, "parameter 'recvCount' is ", recvCount,
                ", but sendCounts[", builder.rank(), "] is ", pieces[builder.rank()].bytes / builder.element());
        const void* const source = builder.read(sendBuf, extent(pieces), "sendBuf");
        void* const target = builder.write(recvBuf, bytes, "recvBuf");
        builder.submit(stream, [=, pieces = std::move(pieces)](Exchange& exchange) {
          reduce_scatter(exchange, source, target, pieces);
        });
      },
      arg("recvCount", recvCount), arg("dataType", dataType), arg("op", op));
}

HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                       HcclComm comm, aclrtStream stream) {
  return run(
      "HcclScatter", stream,
      [&] {
        Builder builder("HcclScatter", comm, Call::kScatter, dataType, kNone, root);
        const size_t bytes = builder.bytes(recvCount);
        const void* const source =
            builder.rank() == root ? builder.read(sendBuf, bytes * builder.ranks(), "sendBuf") : nullptr;
        void* const target = builder.write(recvBuf, bytes, "recvBuf");
        builder.submit(stream, [=](Exchange& exchange) { scatter(exchange, source, target, bytes, root); });
      },
      arg("recvCount", recvCount), arg("dataType", dataType), arg("root", root));
}

HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                    aclrtStream stream) {
  return run(
      "HcclSend", stream,
      [&] {
        Builder builder("HcclSend", comm, Call::kPointToPoint, dataType);
        builder.add(transfer(builder, /*send=*/true, sendBuf, count, dataType, destRank));
        builder.submit(stream);
      },
      arg("count", count), arg("dataType", dataType), arg("destRank", destRank));
}
