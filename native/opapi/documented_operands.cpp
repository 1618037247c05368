// native/opapi/documented_operands.cpp
#include "opapi/documented_operands.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "nnopbase/validate.h"
#include "runtime/call.h"

namespace opwright::opapi {

namespace {

using Dtypes = uint64_t;  // a bit for each aclDataType

constexpr Dtypes bit_of(aclDataType dtype) { return Dtypes{1} << static_cast<unsigned>(dtype); }

// The words of operands.tsv.
constexpr Dtypes float32 = bit_of(ACL_FLOAT);
constexpr Dtypes float16 = bit_of(ACL_FLOAT16);
constexpr Dtypes bfloat16 = bit_of(ACL_BF16);
constexpr Dtypes float64 = bit_of(ACL_DOUBLE);
constexpr Dtypes int8 = bit_of(ACL_INT8);
constexpr Dtypes uint8 = bit_of(ACL_UINT8);
constexpr Dtypes int16 = bit_of(ACL_INT16);
constexpr Dtypes uint16 = bit_of(ACL_UINT16);
constexpr Dtypes int32 = bit_of(ACL_INT32);
constexpr Dtypes uint32 = bit_of(ACL_UINT32);
constexpr Dtypes int64 = bit_of(ACL_INT64);
constexpr Dtypes uint64 = bit_of(ACL_UINT64);
constexpr Dtypes boolean = bit_of(ACL_BOOL);
constexpr Dtypes complex32 = bit_of(ACL_COMPLEX32);
constexpr Dtypes complex64 = bit_of(ACL_COMPLEX64);
constexpr Dtypes complex128 = bit_of(ACL_COMPLEX128);
constexpr Dtypes int4 = bit_of(ACL_INT4);
constexpr Dtypes hifloat8 = bit_of(ACL_HIFLOAT8);
constexpr Dtypes float8_e5m2 = bit_of(ACL_FLOAT8_E5M2);
constexpr Dtypes float8_e4m3fn = bit_of(ACL_FLOAT8_E4M3FN);
constexpr Dtypes float8_e8m0 = bit_of(ACL_FLOAT8_E8M0);
constexpr Dtypes float4_e2m1 = bit_of(ACL_FLOAT4_E2M1);
constexpr Dtypes float4_e1m2 = bit_of(ACL_FLOAT4_E1M2);
constexpr Dtypes kAnyDtype = ~Dtypes{0};
constexpr size_t kAnyDims = SIZE_MAX;

struct Row {
  std::string_view function;
  std::string_view operand;
  size_t position;   // of the parameter
  bool is_required;  // of operands that the function could do without
  Dtypes dtypes;
  size_t least, most;      // dimensions
  std::string_view shape;  // the operand that has the same one, forms in parentheses, or nothing
  size_t like;             // that operand's position
};

constexpr Row kRows[] = {
#include "operands.inc"
};

// Of functions that torch_npu calls.
constexpr Row kProgramRows[] = {
#include "program_operands.inc"
};

struct ByFunction {
  constexpr bool operator()(const Row& row, std::string_view function) const { return row.function < function; }
  constexpr bool operator()(std::string_view function, const Row& row) const { return function < row.function; }
};

template <size_t N>
constexpr bool is_sorted(const Row (&rows)[N]) {
  for (size_t i = 1; i < N; ++i) {
    if (rows[i].function < rows[i - 1].function) return false;
  }
  return true;
}
static_assert(is_sorted(kRows) && is_sorted(kProgramRows), "the tables have their functions in alphabetical order");

using Rows = std::pair<const Row*, const Row*>;

template <size_t N>
Rows rows_in(const Row (&rows)[N], std::string_view function) {
  return std::equal_range(std::begin(rows), std::end(rows), function, ByFunction());
}

Rows rows_of(std::string_view function) {
  const Rows rows = rows_in(kRows, function);
  if (rows.first != rows.second) return rows;
  const Rows of_programs = rows_in(kProgramRows, function);
  return of_programs.first != of_programs.second && is_beneath_torch_npu() ? rows : of_programs;
}

std::string names_of(Dtypes dtypes) {
  std::string result;
  for (int code = 0; code < 64; ++code) {
    if ((dtypes & (Dtypes{1} << code)) == 0) continue;
    result += (result.empty() ? "" : ", ") + dtype_name(static_cast<aclDataType>(code));
  }
  return result;
}

bool has(Dtypes dtypes, aclDataType dtype) {
  return dtype >= 0 && static_cast<int>(dtype) < 64 && (dtypes & bit_of(dtype)) != 0;
}

void require_dtype(const Row& row, const aclTensor& tensor) {
  if (has(row.dtypes, tensor.dtype)) return;
  fail(ACLNN_ERR_PARAM_INVALID, "parameter '", row.operand, "' is ", dtype_name(tensor.dtype),
       "; allowed: ", names_of(row.dtypes));
}

// Where a page allows one dimension and more, CANN takes a tensor without any for one of one element.
void require_dims(const Row& row, const aclTensor& tensor) {
  const size_t dims = tensor.sizes.size(), least = row.least == 1 && row.most > 1 ? 0 : row.least;
  if (dims >= least && dims <= row.most) return;
  const std::string allowed = row.least == row.most ? text(row.most) : text(row.least, " to ", row.most);
  fail(ACLNN_ERR_PARAM_INVALID, "parameter '", row.operand, "' has shape ", to_string(tensor.sizes),
       "; allowed: ", allowed, row.most == 1 ? " dimension" : " dimensions");
}

void require_same_shape(const Row& row, const aclTensor& tensor, const std::vector<Tensors>& parameters) {
  const Tensors& like = parameters.at(row.like);
  if (like.empty() || like[0] == nullptr) return;
  const Dims& wanted = like[0]->sizes;
  if (tensor.sizes == wanted) return;
  fail(ACLNN_ERR_PARAM_INVALID, "parameter '", row.operand, "' has shape ", to_string(tensor.sizes),
       "; it must have that of '", row.shape, "', ", to_string(wanted));
}

// The sizes that the names in a call's forms stand for: one, or several for a name with an asterisk.
using Names = std::map<std::string_view, std::vector<int64_t>>;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

bool is_bound(Names& names, std::string_view name, std::vector<int64_t> sizes) {
  return names.try_emplace(name, sizes).first->second == sizes;
}

// 3, H or 4H
bool is_size(std::string_view word, int64_t size, Names& names) {
  int64_t factor = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), factor);
  word.remove_prefix(static_cast<size_t>(end - word.data()));
  if (error != std::errc()) factor = 1;
  if (word.empty()) return size == factor;
  return size % factor == 0 && is_bound(names, word, {size / factor});
}

// A form is "(N,C,*S)": at most one name has an asterisk.
bool is_form(std::string_view form, const Dims& sizes, Names& names) {
  const std::vector<std::string_view> words = split(form.substr(1, form.size() - 2), ',');
  const auto rest = std::find_if(words.begin(), words.end(), [](std::string_view word) { return word[0] == '*'; });
  const bool has_rest = rest != words.end();
  if (has_rest ? sizes.size() + 1 < words.size() : sizes.size() != words.size()) return false;
  const auto before = static_cast<size_t>(rest - words.begin());
  const size_t several = sizes.size() + 1 - words.size();  // 0 without an asterisk, where nobody asks
  Names found = names;
  for (size_t i = 0; i < words.size(); ++i) {
    if (has_rest && i == before) {
      const int64_t* const first = sizes.data() + before;
      if (!is_bound(found, words[i], {first, first + several})) return false;
    } else if (!is_size(words[i], sizes[has_rest && i > before ? i + several - 1 : i], found)) {
      return false;
    }
  }
  names = std::move(found);
  return true;
}

void require_forms(const Row& row, const aclTensor& tensor, Names& names) {
  const std::vector<std::string_view> forms = split(row.shape, '|');
  if (std::any_of(forms.begin(), forms.end(), [&](auto form) { return is_form(form, tensor.sizes, names); })) return;
  std::string known;
  for (const auto& [name, sizes] : names) {
    if (row.shape.find(name) == std::string_view::npos) continue;
    known += text(known.empty() ? " where " : ", ", name, " is ",
                  name[0] == '*' ? to_string(Dims(sizes.data(), sizes.size())) : text(sizes[0]));
  }
  fail(ACLNN_ERR_PARAM_INVALID, "parameter '", row.operand, "' has shape ", to_string(tensor.sizes),
       "; allowed: ", row.shape, known);
}

}  // namespace

// A program may load torch_npu at any time.
bool is_beneath_torch_npu() {
  void* const library = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

void require_documented(std::string_view function, const std::function<std::vector<Tensors>()>& list_parameters) {
  const auto [begin, end] = rows_of(function);
  if (begin == end) return;
  const std::vector<Tensors> parameters = list_parameters();
  Names names;
  for (const Row* row = begin; row != end; ++row) {
    for (const aclTensor* const tensor : parameters.at(row->position)) {
      if (tensor == nullptr) {
        require(!row->is_required, ACLNN_ERR_PARAM_NULLPTR, "parameter '", row->operand,
                "' is null, but it is required");
        continue;
      }
      require_dtype(*row, *tensor);
      require_dims(*row, *tensor);
      if (row->shape.empty()) continue;
      if (row->shape[0] == '(') {
        require_forms(*row, *tensor, names);
      } else {
        require_same_shape(*row, *tensor, parameters);
      }
    }
  }
}

}  // namespace opwright::opapi
