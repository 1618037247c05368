// native/runtime/data_dump/file.h
// A dump file, as CANN writes it: the length of its head in 8 bytes, the head (protobuf's DumpData), then the bytes of
// the inputs and of the outputs. Or, of statistics, a table in CSV.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "runtime/error.h"

namespace opwright::data_dump {

// A tensor in host memory, its elements one behind the other.
struct Tensor {
  aclDataType dtype;
  aclFormat format;
  std::vector<int64_t> sizes;           // as it lies in memory
  std::vector<int64_t> original_sizes;  // as the operator sees it
  uint64_t address;                     // of the device; 0 for none
  const void* data;
  size_t bytes;
};

// One run of an operator.
struct Record {
  std::string folder;
  std::string type;
  std::string name;
  uint64_t task;
  int32_t stream;
  uint64_t time;  // microseconds since 1970
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

// "type.name.task.stream.time"; characters with a meaning in it become underscores.
std::string file_name(const Record& record);
std::string encode(const Record& record);
std::string statistics(const Record& record);

// Writes the file. A failure is only reported: the program needs its results more than their dump.
void write(const Record& record, bool as_statistics) noexcept;
// A line in the log, of those that are written for errors that nobody reads.
void report_failure(const std::exception& error) noexcept;

// As file names have it: without '.', '/', '\' and spaces.
OPWRIGHT_API std::string in_file_names(std::string name);

// A time that no other dump of this process has.
uint64_t next_time() noexcept;

}  // namespace opwright::data_dump
