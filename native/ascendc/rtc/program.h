// native/ascendc/rtc/program.h
// A program of aclrtc: a source, the names of kernels that are wanted of it, and what its compilation gave.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "acl/acl_rt_compile.h"

namespace opwright::rtc {

class Program {
 public:
  // `headers` by the name in the source's #include. Throws 176001 for a name that leads out of a folder.
  Program(std::string source, std::string name, std::map<std::string, std::string> headers);

  // Throws 176005 once the program is compiled.
  void add_expression(const std::string& expression);
  // Throws what went wrong, by its code; the log has the compiler's messages.
  void compile(const std::vector<std::string>& options);

  // Throws 176000 before a compilation that succeeded.
  const std::string& binary() const;
  const std::string& log() const { return log_; }
  // The symbol of the kernel that an expression names. Throws 176006 before the compilation, 176007 for an expression
  // that was not added. Valid as long as the program.
  const char* lowered_name(const std::string& expression) const;

 private:
  const std::string source_;
  const std::string name_;
  const std::map<std::string, std::string> headers_;
  std::vector<std::string> expressions_;
  std::map<std::string, std::string> symbols_;  // by expression
  std::string binary_;
  std::string log_;
};

}  // namespace opwright::rtc
