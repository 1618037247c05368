// native/collective/communicator_calls.cpp
// Making, naming, asking and destroying communicators.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <string_view>

#include "collective/communicator.h"
#include "collective/entry_order.h"
#include "collective/refuse.h"
#include "hccl/hccl.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"

using namespace opwright;
using namespace opwright::collective;

namespace {

constexpr int32_t kNotSet = -1;

constexpr int kNoDevice = -1;

struct Options {
  std::string name;
  Limit limit = execute_limit();
  int device = has_current_device() ? current_device().id() : kNoDevice;
};

// The fields that the caller's version of the structure has and that mean something on a CPU.
Options options_of(const HcclCommConfig* config) {
  require(config != nullptr, HCCL_E_PTR, "parameter 'config' is null");
  require(config->magicWord == HCCL_COMM_CONFIG_MAGIC_WORD, HCCL_E_PARA,
          "parameter 'config' was not initialised with HcclCommConfigInit");
  const auto has = [&](size_t offset, size_t size) { return config->size >= offset + size; };
  Options options;
  if (has(offsetof(HcclCommConfig, hcclCommName), COMM_NAME_MAX_LENGTH)) {
    options.name.assign(config->hcclCommName, strnlen(config->hcclCommName, COMM_NAME_MAX_LENGTH - 1));
  }
  if (has(offsetof(HcclCommConfig, hcclExecTimeOut), sizeof(int32_t)) && config->hcclExecTimeOut != kNotSet) {
    require(config->hcclExecTimeOut >= 0, HCCL_E_PARA, "hcclExecTimeOut is ", config->hcclExecTimeOut,
            "; allowed: a number of seconds, 0 for no limit, -1 for HCCL_EXEC_TIMEOUT");
    options.limit = config->hcclExecTimeOut == 0 ? Limit() : Limit(std::chrono::seconds(config->hcclExecTimeOut));
  }
  return options;
}

HcclComm make(const std::string& identity, const Options& options, uint32_t rank, Links links) {
  return communicators().add(std::make_shared<Communicator>(identity, options.name.empty() ? identity : options.name,
                                                            options.device, rank, std::move(links), options.limit));
}

std::shared_ptr<Communicator> find(HcclComm comm) {
  require(comm != nullptr, HCCL_E_PTR, "parameter 'comm' is null");
  return communicators().find(comm);
}

template <class T>
T& result(T* pointer, const char* name) {
  return out(pointer, name, HCCL_E_PTR);
}

void make_root_info(HcclRootInfo* rootInfo) {
  HcclRootInfo& info = result(rootInfo, "rootInfo");
  require_not_forked();
  std::memset(info.internal, 0, sizeof(info.internal));
  const std::string name = open_rendezvous();
  std::memcpy(info.internal, name.data(), name.size());
}

HcclComm from_root(uint32_t ranks, const HcclRootInfo* rootInfo, uint32_t rank, const Options& options) {
  require(rootInfo != nullptr, HCCL_E_PTR, "parameter 'rootInfo' is null");
  require_not_forked();
  const std::string name(rootInfo->internal, strnlen(rootInfo->internal, COMM_NAME_MAX_LENGTH));
  require(name.find("opwright-hccl-") == 0, HCCL_E_PARA, "parameter 'rootInfo' was not made by HcclGetRootInfo");
  return make(name, options, rank, meet(name, ranks, rank, join_order(name, options.device)));
}

// The numbers behind each "rank_id" of a rank table (JSON), which are texts in some versions.
std::vector<uint32_t> rank_ids(std::string_view content) {
  constexpr std::string_view kKey = "\"rank_id\"";
  std::vector<uint32_t> ids;
  for (size_t at = content.find(kKey); at != content.npos; at = content.find(kKey, at)) {
    at = content.find_first_not_of(" \t\r\n:\"", at + kKey.size());
    if (at == content.npos) break;
    uint32_t id = 0;
    if (std::from_chars(content.data() + at, content.data() + content.size(), id).ec == std::errc()) ids.push_back(id);
  }
  return ids;
}

// The text of a rank table file, and how many ranks it has: each has an entry "rank_id".
std::string read_rank_table(const std::string& path, uint32_t& ranks) {
  std::ifstream file(path);
  require(file.good(), HCCL_E_OPEN_FILE_FAILURE, "the rank table '", path, "' cannot be opened");
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::vector<uint32_t> entries = rank_ids(content);
  const std::set<uint32_t> ids(entries.begin(), entries.end());
  require(!ids.empty() && entries.size() == ids.size() && *ids.rbegin() == ids.size() - 1, HCCL_E_PARA,
          "the rank table '", path, "' has to name each \"rank_id\" from 0 on once, but has ", entries.size(),
          " entries for ", ids.size(), " rank(s)");
  ranks = static_cast<uint32_t>(ids.size());
  return content;
}

HcclComm from_table(const char* clusterInfo, uint32_t rank, const Options& options) {
  require(clusterInfo != nullptr, HCCL_E_PTR, "parameter 'clusterInfo' is null");
  require_not_forked();
  char* const resolved = realpath(clusterInfo, nullptr);
  const std::string path = resolved != nullptr ? resolved : clusterInfo;
  std::free(resolved);
  uint32_t ranks = 0;
  const std::string content = read_rank_table(path, ranks);
  const std::string name = text("opwright-hccl-table-", std::hash<std::string>{}(path + '\n' + content));
  return make(name, options, rank, meet_at_known_name(name, ranks, rank, join_order(name, options.device)));
}

HcclComm make_part(const Communicator& whole, const std::vector<uint32_t>& ranks, uint64_t id, uint32_t rank,
                   const Options& options) {
  std::string members;
  for (size_t i = 0; i < ranks.size(); ++i) {
    require(ranks[i] < whole.size(), HCCL_E_PARA, "rankIds[", i, "] is ", ranks[i], ", but communicator '",
            whole.name(), "' has ", whole.size(), " rank(s)");
    require(std::count(ranks.begin(), ranks.end(), ranks[i]) == 1, HCCL_E_PARA, "rankIds names rank ", ranks[i],
            " more than once");
    members += text(",", ranks[i]);
  }
  require(rank < ranks.size() && ranks[rank] == whole.rank(), HCCL_E_PARA, "parameter 'subCommRankId' is ", rank,
          ", but rankIds has this rank (", whole.rank(), ") elsewhere or not at all");
  const std::string name =
      text("opwright-hccl-part-", std::hash<std::string>{}(text(whole.identity(), "/", id, members)));
  return make(name, options, rank,
              meet_at_known_name(name, static_cast<uint32_t>(ranks.size()), rank, join_order(name, options.device)));
}

template <class Body, class... Args>
HcclResult run(const char* function, Body&& body, const Args&... args) {
  return static_cast<HcclResult>(call(function, std::forward<Body>(body), args...));
}

}  // namespace

HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  return run("HcclGetRootInfo", [&] { make_root_info(rootInfo); });
}

HcclResult HcclGetRootInfoScalable(HcclRootInfo* rootInfo) {
  return run("HcclGetRootInfoScalable", [&] { make_root_info(rootInfo); });
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, HcclComm* comm) {
  return run(
      "HcclCommInitRootInfo", [&] { result(comm, "comm") = from_root(nRanks, rootInfo, rank, Options()); },
      arg("nRanks", nRanks), arg("rank", rank));
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                      const HcclCommConfig* config, HcclComm* comm) {
  return run(
      "HcclCommInitRootInfoConfig",
      [&] { result(comm, "comm") = from_root(nRanks, rootInfo, rank, options_of(config)); }, arg("nRanks", nRanks),
      arg("rank", rank));
}

// Several roots share the work of a large start; for the ranks of one machine the first one is enough.
HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot, const HcclRootInfo* rootInfoList,
                                        uint32_t rank, uint32_t nExtRoot, const HcclCommConfig* config,
                                        HcclComm* comm) {
  return run(
      "HcclCommInitRootInfoScalable",
      [&] {
        require(nRoot >= 1, HCCL_E_PARA, "parameter 'nRoot' is 0; allowed: at least 1");
        require(nExtRoot == 0, HCCL_E_PARA, "parameter 'nExtRoot' is ", nExtRoot, "; allowed: 0");
        result(comm, "comm") = from_root(nRanks, rootInfoList, rank, options_of(config));
      },
      arg("nRanks", nRanks), arg("nRoot", nRoot), arg("rank", rank));
}

HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
  return run(
      "HcclCommInitClusterInfo", [&] { result(comm, "comm") = from_table(clusterInfo, rank, Options()); },
      arg("rank", rank));
}

HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank, HcclCommConfig* config,
                                         HcclComm* comm) {
  return run(
      "HcclCommInitClusterInfoConfig",
      [&] { result(comm, "comm") = from_table(clusterInfo, rank, options_of(config)); }, arg("rank", rank));
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  return run(
      "HcclCommInitAll",
      [&] {
        require(devices != nullptr, HCCL_E_PTR, "parameter 'devices' is null");
        result(comms, "comms");
        require(ndev >= 1 && ndev <= kMostRanks, HCCL_E_PARA, "parameter 'ndev' is ", ndev, "; allowed: 1 to ",
                kMostRanks);
        for (uint32_t i = 0; i < ndev; ++i) {
          device_at(devices[i]);
          require(std::count(devices, devices + ndev, devices[i]) == 1, HCCL_E_PARA, "devices names device ",
                  devices[i], " more than once");
        }
        std::vector<Member> members;
        const std::string identity = new_name("all-");
        for (uint32_t i = 0; i < ndev; ++i) members.push_back(join_order(identity, devices[i]));
        std::vector<Links> links = connect_all(members);
        for (uint32_t rank = 0; rank < ndev; ++rank) {
          Options options;
          options.device = devices[rank];
          comms[rank] = make(identity, options, rank, std::move(links[rank]));
        }
      },
      arg("ndev", ndev));
}

HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm) {
  return run(
      "HcclCreateSubCommConfig",
      [&] {
        const auto whole = find(result(comm, "comm"));
        HcclComm& made = result(subComm, "subComm");
        made = nullptr;
        if (rankIds == nullptr && rankNum == 0) return;  // this rank does not belong to it
        require(rankIds != nullptr, HCCL_E_PTR, "parameter 'rankIds' is null");
        whole->require_usable();
        made = make_part(*whole, {rankIds, rankIds + rankNum}, subCommId, subCommRankId, options_of(config));
      },
      arg("rankNum", rankNum), arg("subCommId", subCommId), arg("subCommRankId", subCommRankId));
}

HcclResult HcclCommDestroy(HcclComm comm) {
  return run(
      "HcclCommDestroy",
      [&] {
        const auto communicator = find(comm);
        communicator->destroy();
        communicators().remove_if_live(comm);
      },
      arg("comm", comm));
}

HcclResult HcclCommResume(HcclComm comm) {
  return run("HcclCommResume", [&] { find(comm)->require_usable(); }, arg("comm", comm));
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  return run("HcclGetCommAsyncError", [&] {
    HcclResult& answer = result(asyncError, "asyncError");
    const auto failure = find(comm)->failure();
    answer = failure ? static_cast<HcclResult>(failure->code()) : HCCL_SUCCESS;
    if (failure) record_error(failure->code(), failure->text());  // torch_npu's watchdog asks for it
  });
}

HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  return run("HcclGetCommName", [&] {
    const auto communicator = find(comm);
    std::strncpy(&result(commName, "commName"), communicator->name().c_str(), COMM_NAME_MAX_LENGTH);
    commName[COMM_NAME_MAX_LENGTH - 1] = '\0';
  });
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return run("HcclGetRankId", [&] { result(rank, "rank") = find(comm)->rank(); });
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  return run("HcclGetRankSize", [&] { result(rankSize, "rankSize") = find(comm)->size(); });
}

OPWRIGHT_REFUSE_COLLECTIVE(HcclCommWorkingDevNicSet, (HcclComm, uint32_t*, bool*, uint32_t),
                           "the twin has no network cards to switch between")
