// tests/native/collective_test.cpp
// HCCL's C interface: communicators of one process, groups of calls, parts, names, memory ranges, and failures.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "acl/acl_rt.h"
#include "collective/message.h"
#include "hccl/hccl.h"
#include "scenario.h"

extern "C" const char* opwright_order_take();

namespace {

// Two ranks, each with a device and a stream of it.
struct Pair {
  HcclComm comms[2] = {};
  aclrtStream streams[2] = {};

  Pair() {
    OK(aclInit(nullptr));
    int32_t devices[] = {0, 1};
    OK(HcclCommInitAll(2, devices, comms));
    for (int rank = 0; rank < 2; ++rank) {
      OK(aclrtSetDevice(rank));
      OK(aclrtCreateStream(&streams[rank]));
    }
  }
  void wait() {
    for (aclrtStream stream : streams) OK(aclrtSynchronizeStream(stream));
  }
};

template <class T>
T* on_device(int device, const std::vector<T>& values) {
  OK(aclrtSetDevice(device));
  void* address = nullptr;
  const size_t bytes = values.size() * sizeof(T);
  OK(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemcpy(address, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  return static_cast<T*>(address);
}

template <class T>
std::vector<T> on_host(const T* address, size_t count) {
  std::vector<T> values(count);
  OK(aclrtMemcpy(values.data(), count * sizeof(T), address, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
  return values;
}

// This process's sockets, the newest last: an earlier one is never closed here.
std::vector<int> sockets() {
  std::vector<int> found;
  for (int fd = 0; fd < 256; ++fd) {
    struct stat status{};
    if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) found.push_back(fd);
  }
  return found;
}

// A rank that joins by itself: says `words` at the name of a rendezvous, and returns what it is answered.
std::string answer_to(const HcclRootInfo& info, const std::vector<uint32_t>& words) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t size = strnlen(info.internal, sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, info.internal, size);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  CHECK_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  const size_t said = words.size() * sizeof(uint32_t);
  CHECK_EQ(write(fd, words.data(), said), static_cast<ssize_t>(said));
  std::string answer;
  char part[512];
  for (ssize_t count; (count = read(fd, part, sizeof(part))) > 0;) answer.append(part, static_cast<size_t>(count));
  close(fd);
  return answer;
}

// The sums of pairs of numbers in half precision, as all ranks get them.
std::vector<uint16_t> sums_of_bits(HcclDataType type, const std::vector<uint16_t>& left,
                                   const std::vector<uint16_t>& right) {
  Pair pair;
  uint16_t* const buffers[] = {on_device<uint16_t>(0, left), on_device<uint16_t>(1, right)};
  for (int rank = 0; rank < 2; ++rank) {
    OK(HcclAllReduce(buffers[rank], buffers[rank], left.size(), type, HCCL_REDUCE_SUM, pair.comms[rank],
                     pair.streams[rank]));
  }
  pair.wait();
  CHECK(on_host(buffers[0], left.size()) == on_host(buffers[1], left.size()));
  return on_host(buffers[0], left.size());
}

}  // namespace

SCENARIO(ranks_of_one_process_reduce) {
  Pair pair;
  float* const buffers[] = {on_device<float>(0, {1, 2, 3}), on_device<float>(1, {10, 20, NAN})};
  for (int rank = 0; rank < 2; ++rank) {
    uint32_t number = 9;
    OK(HcclGetRankId(pair.comms[rank], &number));
    CHECK_EQ(number, static_cast<uint32_t>(rank));
    OK(HcclGetRankSize(pair.comms[rank], &number));
    CHECK_EQ(number, 2u);
    OK(HcclAllReduce(buffers[rank], buffers[rank], 3, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, pair.comms[rank],
                     pair.streams[rank]));
    OK(HcclBarrier(pair.comms[rank], pair.streams[rank]));
  }
  pair.wait();
  for (const float* buffer : buffers) {
    const auto values = on_host(buffer, 3);
    CHECK_EQ(values[1], 20.0f);
    CHECK(std::isnan(values[2]));
  }
  char names[2][COMM_NAME_MAX_LENGTH];
  for (int rank = 0; rank < 2; ++rank) OK(HcclGetCommName(pair.comms[rank], names[rank]));
  CHECK_EQ(std::string(names[0]), names[1]);
  for (HcclComm comm : pair.comms) OK(HcclCommDestroy(comm));
  REFUSED(HcclCommDestroy(pair.comms[0]), HCCL_E_PARA, "does not exist");
}

SCENARIO(float16_is_rounded_once) {
  const auto sums = sums_of_bits(HCCL_DATA_TYPE_FP16, {0x3c00, 0x3c01, 0x0001, 0x03ff, 0x7bff, 0xfc00},
                                 {0x1000, 0x1000, 0x0001, 0x0001, 0x7bff, 0x3c00});
  CHECK_EQ(sums[0], 0x3c00);  // 1 + 2^-11 lies between 1 and 1 + 2^-10: the even one is below
  CHECK_EQ(sums[1], 0x3c02);  // the even one is above
  CHECK_EQ(sums[2], 0x0002);  // subnormal
  CHECK_EQ(sums[3], 0x0400);  // becomes normal
  CHECK_EQ(sums[4], 0x7c00);  // infinity
  CHECK_EQ(sums[5], 0xfc00);
}

SCENARIO(bfloat16_is_rounded_once) {
  const auto sums = sums_of_bits(HCCL_DATA_TYPE_BFP16, {0x3f80, 0x3f81, 0x7f7f}, {0x3b80, 0x3b80, 0x7f7f});
  CHECK_EQ(sums[0], 0x3f80);  // 1 + 2^-8 is a tie
  CHECK_EQ(sums[1], 0x3f82);
  CHECK_EQ(sums[2], 0x7f80);
}

SCENARIO(sends_of_a_group_go_on_at_once) {
  Pair pair;
  constexpr size_t kMany = 300000;  // more than a socket holds
  int32_t* received[2];
  int32_t* own[2];
  for (int rank = 0; rank < 2; ++rank) {
    int32_t* const sent = on_device(rank, std::vector<int32_t>(kMany, rank + 1));
    received[rank] = on_device(rank, std::vector<int32_t>(kMany));
    own[rank] = on_device<int32_t>(rank, {0});
    const auto self = static_cast<uint32_t>(rank);
    OK(HcclGroupStart());
    OK(HcclSend(sent, kMany, HCCL_DATA_TYPE_INT32, 1 - self, pair.comms[rank], pair.streams[rank]));
    OK(HcclSend(sent, 1, HCCL_DATA_TYPE_INT32, self, pair.comms[rank], pair.streams[rank]));
    OK(HcclRecv(received[rank], kMany, HCCL_DATA_TYPE_INT32, 1 - self, pair.comms[rank], pair.streams[rank]));
    OK(HcclRecv(own[rank], 1, HCCL_DATA_TYPE_INT32, self, pair.comms[rank], pair.streams[rank]));
    OK(HcclGroupEnd());
  }
  pair.wait();
  for (int rank = 0; rank < 2; ++rank) {
    const auto others = on_host(received[rank], kMany);
    const auto mine = on_host(own[rank], 1);
    CHECK_EQ(others.back(), 2 - rank);
    CHECK_EQ(mine[0], rank + 1);
  }
  REFUSED(HcclGroupEnd(), HCCL_E_PARA, "HcclGroupStart first");
}

SCENARIO(a_group_whose_thread_ends_fails) {
  Pair pair;
  float* const buffer = on_device<float>(0, {1});
  std::thread([&] {
    OK(aclrtSetDevice(0));
    OK(HcclGroupStart());
    OK(HcclSend(buffer, 1, HCCL_DATA_TYPE_FP32, 1, pair.comms[0], pair.streams[0]));
  }).join();
  REFUSED(aclrtSynchronizeStream(pair.streams[0]), HCCL_E_PARA, "has ended without HcclGroupEnd");
  OK(aclrtSetDevice(1));
  OK(HcclRecv(on_device<float>(1, {0}), 1, HCCL_DATA_TYPE_FP32, 0, pair.comms[1], pair.streams[1]));
  REFUSED(aclrtSynchronizeStream(pair.streams[1]), HCCL_E_REMOTE, "rank 0 has given the communicator up");
}

SCENARIO(all_gather_takes_its_piece_in_place_and_no_other) {
  Pair pair;
  for (int rank = 0; rank < 2; ++rank) {
    float* const all = on_device<float>(rank, {1, 2, 3, 4});
    const auto comm = pair.comms[rank];
    REFUSED(HcclAllGather(all + 1, all, 2, HCCL_DATA_TYPE_FP32, comm, pair.streams[rank]), HCCL_E_PARA,
            "sendBuf and recvBuf overlap");
    OK(HcclAllGather(all + 2 * rank, all, 2, HCCL_DATA_TYPE_FP32, comm, pair.streams[rank]));
  }
  pair.wait();
}

SCENARIO(parts_of_two_communicators_do_not_meet) {
  OK(aclInit(nullptr));
  int32_t devices[] = {0, 1};
  uint32_t both[] = {0, 1};
  HcclComm comms[2] = {};
  OK(HcclCommInitAll(2, devices, comms));
  const HcclComm before[] = {comms[0], comms[1]};
  OK(HcclCommInitAll(2, devices, comms));
  HcclCommConfig config{};
  config.size = sizeof(config);
  config.magicWord = HCCL_COMM_CONFIG_MAGIC_WORD;
  config.hcclExecTimeOut = -1;
  HcclComm parts[2][2] = {};
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    for (int set = 0; set < 2; ++set) {
      threads.emplace_back([&, rank, set] {
        HcclComm whole = set == 0 ? before[rank] : comms[rank];
        OK(HcclCreateSubCommConfig(&whole, 2, both, 7, rank, &config, &parts[set][rank]));
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& part : parts) {
    char names[2][COMM_NAME_MAX_LENGTH];
    for (int rank = 0; rank < 2; ++rank) OK(HcclGetCommName(part[rank], names[rank]));
    CHECK_EQ(std::string(names[0]), names[1]);
  }
  char other[COMM_NAME_MAX_LENGTH];
  char name[COMM_NAME_MAX_LENGTH];
  OK(HcclGetCommName(parts[0][0], name));
  OK(HcclGetCommName(parts[1][0], other));
  CHECK(std::string(name) != other);
}

SCENARIO(ranks_that_enter_collectives_in_different_order_are_found) {
  setenv("OPWRIGHT_ORDER", "1", 1);  // it is read with the first task
  Pair first;
  int32_t devices[] = {0, 1};
  HcclComm second[2] = {};
  OK(HcclCommInitAll(2, devices, second));
  aclrtStream streams[2] = {};
  for (int rank = 0; rank < 2; ++rank) {
    OK(aclrtSetDevice(rank));
    OK(aclrtCreateStream(&streams[rank]));
  }
  const auto enter_both = [&](int rank, bool swapped) {
    OK(aclrtSetDevice(rank));
    if (swapped) OK(HcclBarrier(second[rank], streams[rank]));
    OK(HcclBarrier(first.comms[rank], first.streams[rank]));
    if (!swapped) OK(HcclBarrier(second[rank], streams[rank]));
  };
  const auto findings = [&] {
    first.wait();
    for (aclrtStream stream : streams) OK(aclrtSynchronizeStream(stream));
    return std::string(opwright_order_take());
  };
  for (int rank = 0; rank < 2; ++rank) enter_both(rank, false);
  CHECK_EQ(findings(), "[]");
  for (int rank = 0; rank < 2; ++rank) enter_both(rank, rank == 1);
  const std::string found = findings();
  CHECK(found.find("ranks enter collectives in different order") != std::string::npos);
  CHECK(found.find("HcclBarrier of communicator") != std::string::npos);
}

SCENARIO(as_many_ranks_as_a_process_may_open_files) {
  OK(aclInit(nullptr));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = 20 * 20 + 200;  // all pairs at once, twice as the other ends are here too, would be 760 more
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  constexpr uint32_t kRanks = 20;
  HcclRootInfo info{};
  OK(HcclGetRootInfo(&info));
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      OK(aclrtSetDevice(0));
      HcclComm comm = nullptr;
      OK(HcclCommInitRootInfo(kRanks, &info, rank, &comm));
      aclrtStream stream = nullptr;
      OK(aclrtCreateStream(&stream));
      OK(HcclBarrier(comm, stream));
      OK(aclrtSynchronizeStream(stream));
      OK(HcclCommDestroy(comm));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

SCENARIO(a_join_that_cannot_be_is_answered) {
  constexpr uint32_t kMagic = 0x6f706832;
  OK(aclInit(nullptr));
  for (const auto& [ranks, rank, reason] : {
           std::tuple{0u, 0u, "a communicator of 0 ranks"},
           std::tuple{0xffffffffu, 0u, "a communicator of 4294967295 ranks"},
           std::tuple{2u, 2u, "rank 2 does not exist"},
       }) {
    HcclRootInfo info{};
    OK(HcclGetRootInfo(&info));
    const std::string answer = answer_to(info, {kMagic, ranks, rank, 0, 0});
    CHECK(answer.find(reason) != std::string::npos);
  }
}

SCENARIO(what_is_no_message_is_not_taken_for_one) {
  using opwright::collective::Agreement;
  using opwright::collective::Call;
  using opwright::collective::Header;
  using opwright::collective::Kind;
  const Agreement barrier{Call::kBarrier, HCCL_DATA_TYPE_INT8, Agreement::kNone, Agreement::kNone, 1};
  Agreement strange = barrier;
  strange.call = static_cast<Call>(99);
  constexpr uint64_t kMuch = uint64_t{1} << 60;
  for (const Header& header : {Header{static_cast<Kind>(7), barrier, 0}, Header{Kind::kData, strange, 0},
                               Header{Kind::kData, barrier, kMuch}, Header{Kind::kFailure, barrier, kMuch}}) {
    const std::vector<int> before = sockets();
    Pair pair;
    std::vector<int> links = sockets();
    links.erase(links.begin(), links.begin() + static_cast<ptrdiff_t>(before.size()));
    CHECK_EQ(links.size(), 2u);
    CHECK_EQ(write(links[0], &header, sizeof(header)), static_cast<ssize_t>(sizeof(header)));  // as rank 0, to rank 1
    OK(HcclBarrier(pair.comms[1], pair.streams[1]));
    REFUSED(aclrtSynchronizeStream(pair.streams[1]), HCCL_E_INTERNAL, "what rank 0 wrote is not a message");
    OK(aclFinalize());
  }
}

SCENARIO(a_part_of_a_communicator) {
  Pair pair;
  uint32_t order[] = {1, 0};
  HcclCommConfig config{};
  config.size = sizeof(config);
  config.magicWord = HCCL_COMM_CONFIG_MAGIC_WORD;
  config.hcclExecTimeOut = -1;
  std::strcpy(config.hcclCommName, "part");
  HcclComm parts[2] = {};
  std::thread other([&] { OK(HcclCreateSubCommConfig(&pair.comms[1], 2, order, 7, 0, &config, &parts[1])); });
  OK(HcclCreateSubCommConfig(&pair.comms[0], 2, order, 7, 1, &config, &parts[0]));
  other.join();
  uint32_t rank = 9;
  OK(HcclGetRankId(parts[0], &rank));
  CHECK_EQ(rank, 1u);
  char name[COMM_NAME_MAX_LENGTH];
  OK(HcclGetCommName(parts[0], name));
  CHECK_EQ(std::string(name), "part");
  REFUSED(HcclCreateSubCommConfig(&pair.comms[0], 2, order, 7, 0, &config, &parts[0]), HCCL_E_PARA, "subCommRankId");
  config.magicWord = 0;
  REFUSED(HcclCreateSubCommConfig(&pair.comms[0], 2, order, 7, 1, &config, &parts[0]), HCCL_E_PARA,
          "HcclCommConfigInit");
}

SCENARIO(who_waits_for_a_failed_collective_fails) {
  Pair pair;
  float* const buffer = on_device<float>(0, {1});
  OK(HcclCommDestroy(pair.comms[1]));
  aclrtStream second = nullptr;
  OK(aclrtCreateStream(&second));
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  OK(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, pair.comms[0], pair.streams[0]));
  OK(aclrtRecordEvent(event, pair.streams[0]));
  OK(aclrtStreamWaitEvent(second, event));
  REFUSED(aclrtSynchronizeStream(second), HCCL_E_REMOTE, "HcclAllReduce", "rank 1 has destroyed its communicator");
  OK(aclrtSynchronizeStream(pair.streams[0]));  // it is reported once
  HcclResult state = HCCL_SUCCESS;
  OK(HcclGetCommAsyncError(pair.comms[0], &state));
  CHECK_EQ(state, HCCL_E_REMOTE);
  REFUSED(HcclBarrier(pair.comms[0], pair.streams[0]), HCCL_E_REMOTE, "cannot be used again");
  REFUSED(HcclCommResume(pair.comms[0]), HCCL_E_REMOTE, "cannot be used again");
}

SCENARIO(a_waiting_call_ends_when_its_communicator_is_destroyed) {
  Pair pair;
  float* const buffer = on_device<float>(0, {1});
  OK(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, pair.comms[0], pair.streams[0]));
  OK(HcclCommDestroy(pair.comms[0]));
  REFUSED(aclrtSynchronizeStream(pair.streams[0]), HCCL_E_PARA, "destroyed while this call waited for rank 1");
}

SCENARIO(wrong_arguments_are_named) {
  Pair pair;
  float* const buffer = on_device<float>(0, {1, 2});
  const auto comm = pair.comms[0];
  const auto stream = pair.streams[0];
  float host = 0;
  REFUSED(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, nullptr, stream), HCCL_E_PTR,
          "'comm'");
  REFUSED(HcclAllReduce(nullptr, buffer, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream), HCCL_E_PTR,
          "'sendBuf'");
  REFUSED(HcclAllReduce(&host, buffer, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream), HCCL_E_PARA, "sendBuf",
          "not a device address");
  REFUSED(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_UINT8, HCCL_REDUCE_SUM, comm, stream), HCCL_E_NOT_SUPPORT,
          "uint8", "allowed");
  REFUSED(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32, static_cast<HcclReduceOp>(9), comm, stream),
          HCCL_E_PARA, "reduction 9");
  REFUSED(HcclBroadcast(buffer, 1, static_cast<HcclDataType>(99), 0, comm, stream), HCCL_E_PARA, "data type 99");
  REFUSED(HcclBroadcast(buffer, 1, HCCL_DATA_TYPE_FP32, 2, comm, stream), HCCL_E_PARA, "'root' is 2", "2 rank(s)");
  REFUSED(HcclAlltoAll(buffer, 1, HCCL_DATA_TYPE_FP32, buffer, 1, HCCL_DATA_TYPE_FP32, comm, stream), HCCL_E_PARA,
          "overlap");
  REFUSED(HcclBatchSendRecv(nullptr, 0, comm, stream), HCCL_E_PARA, "'itemNum' is 0");
  HcclComm other = nullptr;
  HcclRootInfo info{};
  REFUSED(HcclCommInitRootInfo(2, &info, 0, &other), HCCL_E_PARA, "not made by HcclGetRootInfo");
  OK(HcclGetRootInfo(&info));
  REFUSED(HcclCommInitRootInfo(2, &info, 2, &other), HCCL_E_PARA, "rank 2 does not exist");
  REFUSED(HcclCommInitClusterInfo("/nowhere", 0, &other), HCCL_E_OPEN_FILE_FAILURE, "/nowhere");
}

SCENARIO(memory_is_announced_and_withdrawn) {
  Pair pair;
  float* const buffer = on_device(0, std::vector<float>(1024));
  const auto comm = pair.comms[0];
  OK(HcclCommSetMemoryRange(comm, buffer, 4096, 0, 0));
  OK(HcclCommActivateCommMemory(comm, buffer, 4096, 0, nullptr, 0));
  REFUSED(HcclCommActivateCommMemory(comm, buffer, 4097, 0, nullptr, 0), HCCL_E_PARA, "HcclCommSetMemoryRange");
  OK(HcclCommDeactivateCommMemory(comm, buffer));
  OK(HcclCommUnsetMemoryRange(comm, buffer));
  REFUSED(HcclCommUnsetMemoryRange(comm, buffer), HCCL_E_PARA, "no memory range");
  void* handle = nullptr;
  OK(HcclCommRegister(comm, buffer, 4096, &handle, 0));
  OK(HcclCommDeregister(comm, handle));
  REFUSED(HcclCommDeregister(comm, handle), HCCL_E_PARA, "HcclCommRegister");
}
