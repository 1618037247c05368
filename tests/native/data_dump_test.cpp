// tests/native/data_dump_test.cpp
// Data dumps: configurations that are refused and leave nothing behind, and the files of operators and nodes.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "acl/acl_dump.h"
#include "nnopbase/executor.h"
#include "runtime/data_dump/dump.h"
#include "runtime/memory/memory.h"
#include "scenario.h"

extern "C" int32_t ParseDumpProtoToJson(const char* data, size_t dataLength, const char* path);

namespace {

using opwright::execute;
using opwright::prepare;
using opwright::test::start;
namespace fs = std::filesystem;

// A folder of this scenario, with the configurations that it writes and the dumps.
class Folder {
 public:
  Folder() {
    std::string path = fs::temp_directory_path() / "opwright-dump-XXXXXX";
    CHECK(mkdtemp(path.data()) != nullptr);
    root_ = path;
    fs::create_directory(root_ / "dumps");
  }
  ~Folder() { fs::remove_all(root_); }

  // A file with these entries of "dump" beside dump_path.
  std::string config(const std::string& entries) const {
    return file(R"({"dump": {"dump_path": ")" + (root_ / "dumps").string() + "\"" + (entries.empty() ? "" : ", ") +
                entries + "}}");
  }
  std::string file(const std::string& content) const {
    const fs::path path = root_ / "acl.json";
    std::ofstream(path) << content;
    return path;
  }
  fs::path dumps() const { return root_ / "dumps"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "dumps")) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  fs::path root_;
};

std::string content_of(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// The head of a dump as JSON.
std::string head_of(const std::string& dump) {
  const std::string path = fs::temp_directory_path() / ("opwright-head-" + std::to_string(getpid()));
  CHECK_EQ(ParseDumpProtoToJson(dump.data(), dump.size(), path.c_str()), 0);
  const std::string json = content_of(path);
  fs::remove(path);
  return json;
}

// Doubles its tensor, of which every second element counts, in place.
class Doubling final : public aclOpExecutor {
 public:
  explicit Doubling(aclTensor tensor, bool names_ranges = true)
      : tensor_(std::move(tensor)), names_ranges_(names_ranges) {}
  void run() override {
    auto* const values = static_cast<float*>(opwright::memory::alias_of(tensor_.data));
    for (size_t i = 0; i < 4; ++i) values[i] *= 2;
  }
  const char* name() const noexcept override { return "aclnnDouble"; }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<Doubling>(tensor_, names_ranges_); }
  std::vector<std::vector<aclTensor*>> tensors() override { return {{&tensor_}, {nullptr}}; }
  std::vector<opwright::MemoryRange> memory_ranges() override {
    std::vector<opwright::MemoryRange> ranges;
    if (names_ranges_) opwright::add_range(&tensor_, "x", {true, true}, ranges);
    return ranges;
  }
  size_t input_count() const override { return 0; }

 private:
  aclTensor tensor_;
  bool names_ranges_;
};

aclOpExecutor* prepare_doubling(void* data, bool names_ranges = true) {
  aclTensor tensor;
  const int64_t size = 2;
  const int64_t stride = 2;
  const int64_t all = 4;
  tensor.sizes.assign(&size, 1);
  tensor.strides.assign(&stride, 1);
  tensor.storage_sizes.assign(&all, 1);
  tensor.dtype = ACL_FLOAT;
  tensor.data = data;
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  OK(prepare("aclnnDoubleGetWorkspaceSize", "aclnnDouble", &workspace, &executor,
             [&] { return std::make_unique<Doubling>(tensor, names_ranges); }));
  return executor;
}

void launch_doubling(void* data, bool names_ranges = true) {
  OK(execute("aclnnDouble", nullptr, 0, prepare_doubling(data, names_ranges), nullptr));
}

void launch_refused_doubling(void* data, const char* key) {
  REFUSED(execute("aclnnDouble", nullptr, 0, prepare_doubling(data), nullptr), ACL_ERROR_FEATURE_UNSUPPORTED,
          "aclmdlSetDump", key);
}

void double_in_place(void* data) {
  launch_doubling(data);
  OK(aclrtSynchronizeStream(nullptr));
}

void* four_floats() {
  void* data = nullptr;
  OK(aclrtMalloc(&data, 16, ACL_MEM_MALLOC_HUGE_FIRST));
  const float values[] = {1, 2, 3, 4};
  OK(aclrtMemcpy(data, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE));
  return data;
}

std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

constexpr char kSingle[] = R"("dump_list": [], "dump_op_switch": "on", "dump_mode": "all")";

}  // namespace

SCENARIO(what_is_refused_is_named_and_leaves_nothing_behind) {
  start();
  const Folder folder;
  OK(aclmdlInitDump());
  const auto set = [&](const std::string& entries) { return aclmdlSetDump(folder.config(entries).c_str()); };
  REFUSED(set(R"("dump_list": [{}], "dump_debug": "on")"), ACL_ERROR_INVALID_DUMP_CONFIG, "dump_debug", "dump_list");
  REFUSED(set(R"("dump_op_switch": "on", "dump_debug": "on")"), ACL_ERROR_INVALID_DUMP_CONFIG, "one of them");
  REFUSED(set(R"("dump_debug": "yes")"), ACL_ERROR_INVALID_DUMP_CONFIG, "yes", "off, on");
  REFUSED(set(R"("dump_list": [{}], "dump_mode": "both")"), ACL_ERROR_INVALID_DUMP_CONFIG, "both",
          "output, input, all");
  REFUSED(set(R"("dump_list": [{}], "dump_step": "1-")"), ACL_ERROR_INVALID_DUMP_CONFIG, "dump_step", "0|2-5");
  REFUSED(set(R"("dump_list": [{}], "dump_step": "0|5-2")"), ACL_ERROR_INVALID_DUMP_CONFIG, "0|5-2", "forward ranges");
  REFUSED(set(R"("dump_list": [{}], "unheard": "1")"), ACL_ERROR_INVALID_DUMP_CONFIG, "unheard", "dump_list");
  REFUSED(set(R"("dump_list": [])"), ACL_ERROR_INVALID_DUMP_CONFIG, "nothing is to be dumped");
  REFUSED(aclmdlSetDump(folder.file(R"({"dump": {"dump_list": [{}]}})").c_str()), ACL_ERROR_INVALID_DUMP_CONFIG,
          "dump_path");
  REFUSED(aclmdlSetDump(folder.file(R"({"dump": {"dump_list": [{}], "dump_path": "/no/such"}})").c_str()),
          ACL_ERROR_INVALID_DUMP_CONFIG, "/no/such");
  REFUSED(aclmdlSetDump(folder.file("{\n\"dump\": }").c_str()), ACL_ERROR_PARSE_FILE, "not JSON", "line 2");
  REFUSED(aclmdlSetDump(folder.file("{}").c_str()), ACL_ERROR_INVALID_DUMP_CONFIG, "no entry 'dump'");
  REFUSED(aclmdlSetDump("no such file"), ACL_ERROR_INVALID_FILE, "no such file");
  REFUSED(aclmdlSetDump(nullptr), ACL_ERROR_INVALID_PARAM, "dumpCfgPath");
  double_in_place(four_floats());
  CHECK(folder.files().empty());
  OK(set(kSingle));
  double_in_place(four_floats());
  CHECK_EQ(folder.files().size(), 1u);
  OK(aclmdlFinalizeDump());
  double_in_place(four_floats());
  CHECK_EQ(folder.files().size(), 1u);
}

// TorchAir repeats a failed aclmdlSetDump with every later graph of the process.
SCENARIO(a_dump_that_cannot_be_made_refuses_one_graph_or_operator) {
  start();
  const Folder folder;
  OK(aclmdlInitDump());
  const auto set = [&](const std::string& entries) { OK(aclmdlSetDump(folder.config(entries).c_str())); };
  const auto plan = [](const char* graph) { return std::string(opwright_dump_plan(graph)); };
  void* const data = four_floats();

  set(R"("dump_list": [{"model_name": "a", "opname_range": []}])");
  CHECK(plan("b").empty());
  const std::string refused = plan("a");
  CHECK(refused.find("refusal") != std::string::npos);
  CHECK(refused.find("opname_range") != std::string::npos);
  CHECK(plan("a").empty());

  for (const char* const key : {"dump_stats", "dump_kernel_data"}) {
    set(std::string(kSingle) + ", \"" + key + "\": \"all\"");
    CHECK(plan("a").empty());  // it was for operators
    launch_refused_doubling(data, key);
    double_in_place(data);
  }

  set(R"("dump_scene": "lite_exception")");
  CHECK(plan("a").find("dump_scene") != std::string::npos);
  double_in_place(data);
  set(R"("dump_scene": "lite_exception")");
  launch_refused_doubling(data, "dump_scene");
  CHECK(plan("a").empty());
  CHECK(folder.files().empty());
}

SCENARIO(operators_that_overflow_are_dumped_of_graphs_alone) {
  start();
  const Folder folder;
  OK(aclmdlInitDump());
  OK(aclmdlSetDump(folder.config(R"("dump_debug": "on", "dump_step": "1")").c_str()));
  const std::string plan = opwright_dump_plan("any");
  for (const char* const part : {"\"overflowed\":1", "\"inputs\":1", "\"outputs\":1", "\"steps\":\"1\""}) {
    CHECK(plan.find(part) != std::string::npos);
  }
  double_in_place(four_floats());
  CHECK(folder.files().empty());
}

SCENARIO(dumps_are_opened_before_they_are_set) {
  const Folder folder;
  const std::string single = folder.config(kSingle);
  REFUSED(aclmdlSetDump(single.c_str()), ACL_ERROR_DUMP_NOT_RUN, "aclmdlInitDump first");
  REFUSED(aclInit(folder.config(std::string(kSingle) + R"(, "dump_stats": [])").c_str()), ACL_ERROR_FEATURE_UNSUPPORTED,
          "dump_stats");
  REFUSED(aclInit(folder.file("[").c_str()), ACL_ERROR_PARSE_FILE, "acl.json");
  OK(aclInit(folder.config(kSingle).c_str()));
  REFUSED(aclmdlInitDump(), ACL_ERROR_DUMP_ALREADY_RUN, "aclInit");
  OK(aclrtSetDevice(0));
  double_in_place(four_floats());
  CHECK_EQ(folder.files().size(), 1u);
  OK(aclFinalize());
  OK(aclmdlInitDump());
}

SCENARIO(a_dump_beside_the_one_of_exceptions_is_not_ignored) {
  const Folder folder;
  const std::string scene = R"("dump_scene": "lite_exception")";
  REFUSED(aclInit(folder.config(scene + ", " + kSingle).c_str()), ACL_ERROR_FEATURE_UNSUPPORTED, "dump_scene");
  OK(aclInit(folder.file("{\"dump\": {" + scene + "}}").c_str()));
}

SCENARIO(a_default_device_is_a_whole_number) {
  const Folder folder;
  for (const char* const wrong :
       {"1e300", "1.7", "-1", "\"-1\"", "\"3abc\"", "\"\"", "\" 1\"", "\"99999999999\"", "[]"}) {
    const std::string content = std::string(R"({"defaultDevice": {"default_device": )") + wrong + "}}";
    REFUSED(aclInit(folder.file(content).c_str()), ACL_ERROR_INVALID_PARAM, "default_device");
  }
  OK(aclInit(folder.file(R"({"defaultDevice": {"default_device": "1"}})").c_str()));
}

SCENARIO(escapes_in_a_configuration_are_characters) {
  start();
  const Folder folder;
  fs::create_directory(folder.dumps() / "\xC3\xA9\xF0\x9F\x98\x80");  // e with an acute accent, and a smiling face
  OK(aclmdlInitDump());
  const auto set = [&](const std::string& name) {
    const std::string path = (folder.dumps() / name).string();
    return aclmdlSetDump(folder.file("{\"dump\": {\"dump_path\": \"" + path + "\", " + kSingle + "}}").c_str());
  };
  OK(set("\\u00e9\\uD83D\\ude00"));
  for (const char* const wrong : {"\\ud83d", "\\ude00", "\\ud83dx", "\\ud83d\\u0041"}) {
    REFUSED(set(wrong), ACL_ERROR_PARSE_FILE, "surrogate pair");
  }
  for (const char* const wrong : {"\\u00", "\\u00g0", "\\u-123"}) {
    REFUSED(set(wrong), ACL_ERROR_PARSE_FILE, "hexadecimal");
  }
}

SCENARIO(an_operator_whose_operands_are_unclear_is_not_dumped) {
  start();
  const Folder folder;
  OK(aclmdlInitDump());
  OK(aclmdlSetDump(folder.config(kSingle).c_str()));
  launch_doubling(four_floats(), false);
  REFUSED(aclrtSynchronizeStream(nullptr), ACLNN_ERR_INNER, "aclnnDouble", "1 operands have elements", "0 memory");
  CHECK(folder.files().empty());
}

SCENARIO(a_second_initialisation_changes_nothing) {
  const Folder folder;
  OK(aclInit(nullptr));
  REFUSED(aclInit(folder.file(R"({"defaultDevice": {"default_device": 1}})").c_str()), ACL_ERROR_REPEAT_INITIALIZE,
          "already");
  void* data = nullptr;
  REFUSED(aclrtMalloc(&data, 64, ACL_MEM_MALLOC_HUGE_FIRST), 107002, "no device");
}

SCENARIO(an_operator_is_dumped_as_it_was_before_and_after) {
  start();
  const Folder folder;
  OK(aclmdlInitDump());
  OK(aclmdlSetDump(folder.config(kSingle).c_str()));
  void* const data = four_floats();
  double_in_place(data);
  const std::vector<fs::path> files = folder.files();
  CHECK_EQ(files.size(), 1u);
  const std::string name = files.front().lexically_relative(folder.dumps());
  int used = 0;
  CHECK_EQ(std::sscanf(name.c_str(), "%*14[0-9]/0/Double.aclnnDouble.%*[0-9].%*[0-9].%*16[0-9]%n", &used), 0);
  CHECK_EQ(static_cast<size_t>(used), name.size());
  const std::string dump = content_of(files.front());
  const std::string head = head_of(dump);
  const std::string tensor = R"("data_type":1,"format":2,"shape":{"dim":["2"]})";
  CHECK(head.find(R"("version":"2.0")") != std::string::npos);
  CHECK(head.find("\"output\":[{" + tensor) != std::string::npos);
  CHECK(head.find("\"input\":[{" + tensor) != std::string::npos);
  CHECK(head.find(R"("size":"8","original_shape":{"dim":["2"]})") != std::string::npos);
  CHECK(head.find(R"("op_name":"aclnnDouble")") != std::string::npos);
  CHECK(floats_of(dump.substr(dump.size() - 16)) == (std::vector<float>{1, 3, 2, 6}));
}

SCENARIO(statistics_are_those_of_finite_values) {
  start();
  const Folder folder;
  OK(aclmdlInitDump());
  OK(aclmdlSetDump(folder.config(R"("dump_list": [], "dump_op_switch": "on", "dump_data": "stats")").c_str()));
  void* const data = four_floats();
  const float values[] = {1.5F, 0, -INFINITY, 0};
  OK(aclrtMemcpy(data, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE));
  double_in_place(data);
  const std::vector<fs::path> files = folder.files();
  CHECK_EQ(files.size(), 1u);
  CHECK_EQ(files.front().extension().string(), ".csv");
  CHECK_EQ(content_of(files.front()),
           "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
           "Negative Inf Count,Positive Inf Count\nOutput,0,8,DT_FLOAT,ND,2,3,3,3,2,0,1,0\n");
}

SCENARIO(a_node_lies_below_its_graph_and_run) {
  start();
  const Folder folder;
  OK(aclmdlInitDump());
  OK(aclmdlSetDump(
      folder.config(R"("dump_list": [{"model_name": "a.b", "layer": ["x", "y"]}], "dump_step": "0|2-5")").c_str()));
  CHECK_EQ(std::string(opwright_dump_plan("other")), "");
  const std::string plan = opwright_dump_plan("a.b");
  CHECK(plan.find(R"("inputs":0,"outputs":1,"statistics":0,"steps":"0|2-5","layers":["x","y"])") != std::string::npos);
  const int16_t value = 7;
  const OpwrightDumpTensor tensor{ACL_INT16, 0, nullptr, &value, sizeof value};
  const std::string long_name(300, 'n');
  const std::string target = folder.dumps() / "time";
  for (const std::string& name : {std::string("scope/x y"), long_name}) {
    const OpwrightDumpNode node{target.c_str(), "a.b", 3, 2, "Add", name.c_str(), 5, 0, 0, 1, &tensor};
    opwright_dump_node(&node);
  }
  const fs::path run = fs::path(target) / "0" / "a_b" / "3" / "2";
  std::string table;
  for (const fs::path& path : folder.files()) {
    CHECK_EQ(path.parent_path().string(), run.string());
    if (path.filename() == "mapping.csv") table = content_of(path);
  }
  CHECK_EQ(folder.files().size(), 3u);
  CHECK(table.find(",Add." + long_name + ".5.") != std::string::npos);
  const std::string hashed = table.substr(0, table.find(','));
  CHECK(content_of(run / hashed).find(long_name) != std::string::npos);
}

SCENARIO(a_long_name_is_one_cell_of_the_table) {
  const Folder folder;
  const std::string name = "a,\"b\"\n" + std::string(300, 'n');
  const std::string target = folder.dumps();
  const OpwrightDumpNode node{target.c_str(), "g", 0, 0, "Add", name.c_str(), 5, 0, 0, 0, nullptr};
  opwright_dump_node(&node);
  const std::string table = content_of(fs::path(target) / "0" / "g" / "0" / "0" / "mapping.csv");
  CHECK(table.find(",\"Add.a,\"\"b\"\"\n" + std::string(300, 'n') + ".5.") != std::string::npos);
  CHECK_EQ(table.substr(table.size() - 2), "\"\n");
}

SCENARIO(a_folder_that_cannot_be_used_is_an_answer) {
  int32_t failed = 0;
  const std::string why = opwright_dump_folder("/no/such", &failed);
  CHECK_EQ(failed, 1);
  CHECK(why.find("/no/such") != std::string::npos);
}

SCENARIO(a_list_without_numbers_is_empty) {
  // An output with a shape whose dim is packed and empty, and one whose dim is a single number.
  const std::string head("\x1A\x04\x1A\x02\x0A\x00\x1A\x04\x1A\x02\x08\x07", 12);
  const uint64_t length = head.size();
  const std::string json = head_of(std::string(reinterpret_cast<const char*>(&length), sizeof length) + head);
  CHECK(json.find(R"("shape":{"dim":[]})") != std::string::npos);
  CHECK(json.find(R"("shape":{"dim":["7"]})") != std::string::npos);
}

SCENARIO(a_damaged_dump_is_no_json) {
  const std::string path = fs::temp_directory_path() / ("opwright-head-" + std::to_string(getpid()));
  CHECK_EQ(ParseDumpProtoToJson(nullptr, 9, path.c_str()), -1);
  CHECK_EQ(ParseDumpProtoToJson("abc", 3, path.c_str()), -1);
  CHECK_EQ(ParseDumpProtoToJson("\x08\0\0\0\0\0\0\0abc", 11, path.c_str()), -1);
  CHECK_EQ(ParseDumpProtoToJson("\x03\0\0\0\0\0\0\0abc", 11, path.c_str()), -1);
  // A dim of eleven bytes, each of which says that another one follows; and one that ends too early.
  for (const size_t count : {size_t{11}, size_t{1}}) {
    const auto at = [](size_t number) { return std::string(1, static_cast<char>(number)); };
    const std::string head = "\x1A" + at(count + 4) + "\x1A" + at(count + 2) + "\x0A" + at(count) +
                             std::string(count, static_cast<char>(0xFF));
    const std::string dump = at(head.size()) + std::string(7, '\0') + head;
    CHECK_EQ(ParseDumpProtoToJson(dump.data(), dump.size(), path.c_str()), -1);
  }
  CHECK(!fs::exists(path));
}
