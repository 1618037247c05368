// tests/native/descriptor_test.cpp
// Descriptors, buffers, attributes and data types of the legacy operator path, as C programs use them.
#include <cmath>
#include <cstdint>
#include <limits>

#include "acl/acl_desc.h"
#include "acl/acl_op.h"
#include "runtime/descriptors/op_attr.h"
#include "runtime/descriptors/tensor_desc.h"
#include "scenario.h"

SCENARIO(a_tensor_description_reads_back) {
  const int64_t dims[] = {2, 3};
  aclTensorDesc* const desc = aclCreateTensorDesc(ACL_FLOAT16, 2, dims, ACL_FORMAT_NCHW);
  CHECK_EQ(aclGetTensorDescType(desc), ACL_FLOAT16);
  CHECK_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_NCHW);
  CHECK_EQ(aclGetTensorDescNumDims(desc), size_t{2});
  CHECK_EQ(aclGetTensorDescElementCount(desc), size_t{6});
  CHECK_EQ(aclGetTensorDescSize(desc), size_t{12});
  int64_t dim = 0;
  OK(aclGetTensorDescDimV2(desc, 1, &dim));
  CHECK_EQ(dim, 3);
  REFUSED(aclGetTensorDescDimV2(desc, 2, &dim), ACL_ERROR_INVALID_PARAM, "'index' is 2", "2 dimensions");

  const int64_t stored[] = {1, 16, 16};
  OK(aclSetTensorFormat(desc, ACL_FORMAT_FRACTAL_NZ));
  OK(aclSetTensorShape(desc, 3, stored));
  OK(aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST));
  aclSetTensorDescName(desc, "x");
  CHECK_EQ(std::string(aclGetTensorDescName(desc)), "x");
  CHECK_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_NCHW);
  CHECK_EQ(*desc->storage_format, ACL_FORMAT_FRACTAL_NZ);
  CHECK_EQ(desc->storage_dims->size(), size_t{3});
  CHECK_EQ(desc->placement, ACL_MEMTYPE_HOST);
  aclDestroyTensorDesc(desc);
  aclDestroyTensorDesc(nullptr);
}

SCENARIO(sizes_below_a_byte_are_rounded_up) {
  const int64_t dims[] = {3};
  aclTensorDesc* const desc = aclCreateTensorDesc(ACL_INT4, 1, dims, ACL_FORMAT_ND);
  CHECK_EQ(aclGetTensorDescSize(desc), size_t{2});
  CHECK_EQ(aclDataTypeSize(ACL_INT4), size_t{0});
  CHECK_EQ(aclDataTypeSize(ACL_COMPLEX128), size_t{16});
  aclDestroyTensorDesc(desc);
}

SCENARIO(an_unknown_dimension_has_no_size) {
  const int64_t dims[] = {-1, 4};
  aclTensorDesc* const desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  CHECK_EQ(aclGetTensorDescSize(desc), size_t{0});
  const std::string message = aclGetRecentErrMsg();
  CHECK(message.find("dimension of -1") != std::string::npos);
  aclDestroyTensorDesc(desc);
}

SCENARIO(wrong_descriptions_are_refused) {
  CHECK(aclCreateTensorDesc(ACL_FLOAT, 2, nullptr, ACL_FORMAT_ND) == nullptr);
  const std::string message = aclGetRecentErrMsg();
  CHECK(message.find("'dims' is null") != std::string::npos);
  CHECK(aclCreateTensorDesc(ACL_FLOAT, -1, nullptr, ACL_FORMAT_ND) == nullptr);
  REFUSED(aclSetTensorFormat(nullptr, ACL_FORMAT_ND), ACL_ERROR_INVALID_PARAM, "aclSetTensorFormat", "'desc' is null");
}

SCENARIO(a_data_buffer_reads_back) {
  int memory[4] = {};
  aclDataBuffer* const buffer = aclCreateDataBuffer(memory, sizeof(memory));
  CHECK_EQ(aclGetDataBufferAddr(buffer), static_cast<void*>(memory));
  CHECK_EQ(aclGetDataBufferSizeV2(buffer), sizeof(memory));
  OK(aclUpdateDataBuffer(buffer, memory + 1, 4));
  CHECK_EQ(aclGetDataBufferAddr(buffer), static_cast<void*>(memory + 1));
  CHECK_EQ(aclGetDataBufferSize(buffer), 4u);
  OK(aclDestroyDataBuffer(buffer));
}

SCENARIO(attributes_are_copied_and_replaced) {
  aclopAttr* const attr = aclopCreateAttr();
  int64_t first[] = {1};
  int64_t second[] = {2, 3};
  const int64_t* lists[] = {first, second};
  const int counts[] = {1, 2};
  OK(aclopSetAttrListListInt(attr, "lists", 2, counts, lists));
  second[0] = 0;
  const auto& stored = std::get<std::vector<std::vector<int64_t>>>(attr->values.at("lists"));
  CHECK(stored == (std::vector<std::vector<int64_t>>{{1}, {2, 3}}));

  OK(aclopSetAttrInt(attr, "value", 4));
  OK(aclopSetAttrString(attr, "value", "text"));
  CHECK_EQ(std::get<std::string>(attr->values.at("value")), "text");
  const uint8_t flags[] = {0, 2};
  OK(aclopSetAttrListBool(attr, "flags", 2, flags));
  CHECK(std::get<std::vector<bool>>(attr->values.at("flags")) == (std::vector<bool>{false, true}));

  REFUSED(aclopSetAttrString(attr, "value", nullptr), ACL_ERROR_INVALID_PARAM, "aclopSetAttrString",
          "'attrValue' is null");
  REFUSED(aclopSetAttrListFloat(attr, "x", -1, nullptr), ACL_ERROR_INVALID_PARAM, "-1");
  REFUSED(aclopSetAttrInt(nullptr, "x", 1), ACL_ERROR_INVALID_PARAM, "'attr' is null");
  aclopDestroyAttr(attr);
}

SCENARIO(every_half_survives_the_way_to_float_and_back) {
  for (uint32_t half = 0; half <= std::numeric_limits<uint16_t>::max(); ++half) {
    const float value = aclFloat16ToFloat(static_cast<aclFloat16>(half));
    if (!std::isnan(value)) CHECK_EQ(uint32_t{aclFloatToFloat16(value)}, half);
  }
}

SCENARIO(floats_round_to_the_nearest_even_half) {
  CHECK_EQ(aclFloatToFloat16(1.0f), 0x3C00);
  CHECK_EQ(aclFloatToFloat16(1.0f + 0x1p-11f), 0x3C00);      // half way, down to even
  CHECK_EQ(aclFloatToFloat16(1.0f + 3 * 0x1p-11f), 0x3C02);  // half way, up to even
  CHECK_EQ(aclFloatToFloat16(65519.0f), 0x7BFF);             // the largest half
  CHECK_EQ(aclFloatToFloat16(65520.0f), 0x7C00);             // infinity from here
  CHECK_EQ(aclFloatToFloat16(0x1p-24f), 0x0001);             // the smallest half
  CHECK_EQ(aclFloatToFloat16(0x1p-25f), 0x0000);             // half way, down to even
  CHECK_EQ(aclFloatToFloat16(-0.0f), 0x8000);
  CHECK(std::isnan(aclFloat16ToFloat(aclFloatToFloat16(NAN))));
}
