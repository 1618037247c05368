// native/opapi/ops/attention/sequences.h
// The layouts of attention for inference, and where in a tensor the rows of each sequence are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "opapi/ops/attention/attention.h"

namespace opwright::opapi::attention {

struct Layout {
  std::string_view name, input, output;
};

inline constexpr Layout kLayouts[] = {
    {"BSH", "BSH", "BSH"},         {"BSND", "BSND", "BSND"},      {"BNSD", "BNSD", "BNSD"},
    {"TND", "TND", "TND"},         {"NTD", "NTD", "NTD"},         {"NSD", "NSD", "NSD"},
    {"BNSD_BSND", "BNSD", "BSND"}, {"BSH_BNSD", "BSH", "BNSD"},   {"BSND_BNSD", "BSND", "BNSD"},
    {"NTD_TND", "NTD", "TND"},     {"TND_NTD", "TND", "NTD"},     {"BSH_NBSD", "BSH", "NBSD"},
    {"BSND_NBSD", "BSND", "NBSD"}, {"BNSD_NBSD", "BNSD", "NBSD"},
};

inline const Layout& layout_named(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kLayouts), std::end(kLayouts), [&](const Layout& layout) { return layout.name == name; });
  if (found != std::end(kLayouts)) return *found;
  std::string names;
  for (const Layout& layout : kLayouts) names += (names.empty() ? "" : ", ") + std::string(layout.name);
  fail(ACLNN_ERR_PARAM_INVALID, "parameter 'inputLayout' is '", name, "'; it must be one of ", names);
}

inline bool is_packed(std::string_view form) { return form == "TND" || form == "NTD"; }

// A view as [B, N, S, D]; packed sequences lie one after the other in S.
inline at::Tensor by_head(const at::Tensor& tensor, std::string_view form, int64_t heads, const char* name) {
  const int64_t dims = form == "BSH" || is_packed(form) || form == "NSD" ? 3 : 4;
  require(tensor.dim() == dims, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sizes(), "; ",
          form, " has ", dims, " dimensions");
  at::Tensor view = tensor;
  if (form == "BSH") {
    require(heads > 0 && tensor.size(2) % heads == 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
            tensor.sizes(), "; its last dimension must be a multiple of the ", heads, " heads");
    view = tensor.unflatten(2, {heads, tensor.size(2) / heads}).transpose(1, 2);
  } else if (form == "BSND") {
    view = tensor.transpose(1, 2);
  } else if (form == "NBSD") {
    view = tensor.transpose(0, 1);
  } else if (form == "TND") {
    view = tensor.transpose(0, 1).unsqueeze(0);
  } else if (form == "NTD" || form == "NSD") {
    view = tensor.unsqueeze(0);
  }
  require(view.size(1) == heads, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", view.size(1), " heads in ",
          form, ", but ", heads, " are declared");
  return view;
}

// Where the rows of a sequence lie in [B, N, S, D].
struct Span {
  int64_t batch, start, length;
};

inline at::Tensor rows(const at::Tensor& heads, const Span& span) {
  return heads.narrow(0, span.batch, 1).narrow(2, span.start, span.length);
}

// From the ends of sequences that lie one after the other.
inline std::vector<Span> packed_spans(at::OptionalIntArrayRef ends, int64_t tokens, const char* name) {
  require(ends.has_value() && !ends->empty(), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' is needed for packed sequences: the end of each");
  std::vector<Span> spans;
  int64_t start = 0;
  for (const int64_t end : *ends) {
    require(start <= end && end <= tokens, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", *ends,
            "; the ends must not decrease nor exceed the ", tokens, " tokens");
    spans.push_back({0, start, end - start});
    start = end;
  }
  return spans;
}

// One length for all, or at least one for each of `batches` sequences; all of `limit` if none is given.
inline std::vector<int64_t> lengths_of(at::OptionalIntArrayRef given, int64_t batches, int64_t limit,
                                       const char* name) {
  if (!given || given->empty()) return std::vector<int64_t>(batches, limit);
  const int64_t count = static_cast<int64_t>(given->size());
  require(count == 1 || count >= batches, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", count,
          " lengths; it must have 1, or one for each of the ", batches, " sequences");
  std::vector<int64_t> lengths;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t length = (*given)[count == 1 ? 0 : batch];
    require(0 <= length && length <= limit, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", *given,
            "; lengths must be between 0 and ", limit);
    lengths.push_back(length);
  }
  return lengths;
}

// From lengths of sequences that are padded to `limit` rows: behind, or, if `padding` says how much is behind, before.
inline std::vector<Span> padded_spans(at::OptionalIntArrayRef given, int64_t batches, int64_t limit,
                                      const OptionalTensor& padding, const char* name) {
  std::vector<Span> spans;
  const bool before = padding && given && !given->empty();
  const int64_t behind = before ? std::max<int64_t>(padding->item<int64_t>(), 0) : 0;
  for (const int64_t length : lengths_of(given, batches, limit, name)) {
    const int64_t start = before ? limit - behind - length : 0;
    require(start >= 0, ACLNN_ERR_PARAM_INVALID, "a sequence of ", length, " and ", behind, " rows of padding (", name,
            ") exceed the ", limit, " rows");
    spans.push_back({static_cast<int64_t>(spans.size()), start, length});
  }
  return spans;
}

}  // namespace opwright::opapi::attention
