// native/opapi/ops/common/low_precision.cpp
#include "opapi/ops/common/low_precision.h"

#include <cmath>
#include <limits>

#include "opapi/tiled_format.h"

namespace opwright::opapi {

namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

std::vector<float> hifloat8_numbers() {
  // The leading bits say how many bits the exponent has: 11 four, 10 three, 01 two, 001 one, 0001 none, 0000 is for
  // numbers below the others. The exponent is a sign and a magnitude whose highest bit is left out; the rest is
  // mantissa.
  std::vector<float> numbers(128, kNotANumber);
  for (int code = 0; code < 128; ++code) {
    float& number = numbers[static_cast<size_t>(code)];
    if (code < 8) {
      number = code == 0 ? 0 : std::ldexp(1.0F, code - 23);
      continue;
    }
    const int width = code >= 96 ? 4 : code >= 64 ? 3 : code >= 32 ? 2 : code >= 16 ? 1 : 0;
    const int mantissa_bits = width == 4 ? 1 : width == 3 ? 2 : 3;
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    int exponent = 0;
    if (width > 0) {
      const int bits = (code >> mantissa_bits) & ((1 << width) - 1);
      const int top = 1 << (width - 1);
      exponent = (bits & top) != 0 ? -(top | (bits & (top - 1))) : top | bits;
    }
    if (exponent == 15 && mantissa == 1) continue;  // infinity
    number = std::ldexp(1 + static_cast<float>(mantissa) / static_cast<float>(1 << mantissa_bits), exponent);
  }
  return numbers;
}

// Of a format that torch does not have: the numbers of its codes without sign, NaN for codes that are no numbers.
std::vector<float> numbers_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT4_E2M1:
      return {0, .5, 1, 1.5, 2, 3, 4, 6};
    case ACL_FLOAT4_E1M2:
      return {0, .25, .5, .75, 1, 1.25, 1.5, 1.75};
    default:
      return hifloat8_numbers();
  }
}

struct Table {
  at::Tensor numbers;    // float32, ascending
  at::Tensor codes;      // uint8, of these numbers
  at::Tensor midpoints;  // between neighbours
  at::Tensor decoded;    // float16, of every code with its sign
};

Table make_table(aclDataType dtype) {
  const std::vector<float> values = numbers_of(dtype);
  const at::Tensor by_code = at::tensor(values);
  // argsort puts what is no number last
  const at::Tensor order = by_code.argsort(/*stable=*/true);
  const at::Tensor codes = order.narrow(0, 0, by_code.isnan().logical_not().sum().item<int64_t>());
  const at::Tensor numbers = by_code.index_select(0, codes);
  const int64_t count = numbers.numel();
  at::Tensor decoded = at::cat({by_code, -by_code});
  if (dtype == ACL_HIFLOAT8) {
    constexpr int64_t kInfinity = 0x6F, kSign = 0x80;
    decoded[kInfinity] = INFINITY;
    decoded[kInfinity | kSign] = -INFINITY;
    decoded[kSign] = kNotANumber;
  }
  return {numbers, codes.to(at::kByte), (numbers.narrow(0, 0, count - 1) + numbers.narrow(0, 1, count - 1)) / 2,
          decoded.to(at::kHalf)};
}

const Table& table_of(aclDataType dtype) {
  static const Table e2m1 = make_table(ACL_FLOAT4_E2M1), e1m2 = make_table(ACL_FLOAT4_E1M2),
                     hifloat8 = make_table(ACL_HIFLOAT8);
  return dtype == ACL_FLOAT4_E2M1 ? e2m1 : dtype == ACL_FLOAT4_E1M2 ? e1m2 : hifloat8;
}

// Position among the numbers of a table of the magnitudes of `values`, which have no NaN.
at::Tensor positions(const at::Tensor& values, const Table& table, Rounding rounding) {
  const at::Tensor magnitude = values.abs();
  const auto nearest = [&](bool up) { return at::bucketize(magnitude, table.midpoints, /*out_int32=*/false, up); };
  const at::Tensor below = at::bucketize(magnitude, table.numbers, false, /*right=*/true) - 1;
  const at::Tensor above = at::bucketize(magnitude, table.numbers).clamp_max(table.numbers.numel() - 1);
  switch (rounding) {
    case Rounding::kNearestAway:
      return nearest(true);
    case Rounding::kTrunc:
      return below;
    case Rounding::kFloor:
      return at::where(values < 0, above, below);
    case Rounding::kCeil:
      return at::where(values < 0, below, above);
    default: {
      const at::Tensor up = nearest(true);
      return at::where(up.bitwise_and(1) == 0, up, nearest(false));  // positions and codes have the same parity
    }
  }
}

void round_integral(at::Tensor& values, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven:
      values.round_();
      break;
    case Rounding::kNearestAway:
      values.copy_(values.abs().add_(0.5).floor_().copysign_(values));
      break;
    case Rounding::kFloor:
      values.floor_();
      break;
    case Rounding::kCeil:
      values.ceil_();
      break;
    case Rounding::kTrunc:
      values.trunc_();
      break;
  }
}

constexpr LowFormat kFormats[] = {
    {ACL_INT8, -128, 127, 6, true},
    {ACL_UINT8, 0, 255, 7, true},
    {ACL_INT4, -8, 7, 2, true},
    {ACL_INT32, -8, 7, 2, true},
    {ACL_FLOAT8_E4M3FN, -448, 448, 8, false},
    {ACL_FLOAT8_E5M2, -57344, 57344, 15, false},
    {ACL_HIFLOAT8, -32768, 32768, 15, false},
    {ACL_FLOAT4_E2M1, -6, 6, 2, false},
    {ACL_FLOAT4_E1M2, -1.75, 1.75, 0, false},
};

// The bytes of the elements of a view of 4-bit or 8-bit elements.
struct Bytes {
  at::Tensor memory;  // uint8
  int64_t skipped;    // elements between the start of `memory` and the first of the view
};

Bytes bytes_of(const aclTensor& tensor, int64_t per_byte) {
  int64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    require(tensor.strides[i] >= 0, ACLNN_ERR_PARAM_INVALID, "a tensor of ", dtype_name(tensor.dtype),
            " has negative strides");
    last += (tensor.sizes[i] - 1) * tensor.strides[i];
  }
  const int64_t first_byte = tensor.offset / per_byte, count = last / per_byte - first_byte + 1, step = 1;
  aclTensor bytes = tensor;
  const auto storage = static_cast<int64_t>(tensor.storage_bytes());
  bytes.dtype = ACL_UINT8;
  bytes.offset = first_byte;
  bytes.sizes.assign(&count, 1);
  bytes.strides.assign(&step, 1);
  bytes.storage_sizes.assign(&storage, 1);
  return {view_of(bytes), tensor.offset - first_byte * per_byte};
}

int64_t per_byte(aclDataType dtype) { return dtype == ACL_HIFLOAT8 ? 1 : 2; }

at::Tensor split_nibbles(const at::Tensor& bytes) {
  return at::stack({bytes.bitwise_and(15), bytes.__rshift__(4)}, -1).flatten();
}

at::Tensor viewed(const at::Tensor& codes, const aclTensor& tensor, int64_t skipped) {
  return codes.as_strided(at::IntArrayRef(tensor.sizes.data(), tensor.sizes.size()),
                          at::IntArrayRef(tensor.strides.data(), tensor.strides.size()), skipped);
}

at::Tensor codes_of(const at::Tensor& values, aclDataType dtype) {
  if (dtype == ACL_INT4) return values.to(at::kChar).bitwise_and(15).to(at::kByte);
  const Table& table = table_of(dtype);
  const at::Tensor unknown = values.isnan();
  const at::Tensor numbers = values.masked_fill(unknown, 0);
  const at::Tensor at_positions = positions(numbers, table, Rounding::kNearestEven);
  const int64_t sign = dtype == ACL_HIFLOAT8 ? 128 : 8;
  const at::Tensor codes = table.codes.take(at_positions);
  // hifloat8 has one zero: the code of a negative one is NaN
  const at::Tensor negative = dtype == ACL_HIFLOAT8 ? numbers.lt(0).logical_and_(at_positions > 0) : numbers.signbit();
  const at::Tensor signed_codes = codes + negative.to(at::kByte) * sign;
  return dtype == ACL_HIFLOAT8 ? signed_codes.masked_fill(unknown, 128) : signed_codes;
}

// The storage of a tensor in blocks, one number after the other.
aclTensor flat_storage(const aclTensor& tensor) {
  aclTensor flat = tensor;
  const int64_t count = tensor.storage_sizes.product(), step = 1;
  flat.format = ACL_FORMAT_ND;
  for (Dims* dims : {&flat.sizes, &flat.storage_sizes}) dims->assign(&count, 1);
  flat.strides.assign(&step, 1);
  return flat;
}

at::IntArrayRef storage_shape(const aclTensor& tensor) {
  return {tensor.storage_sizes.data(), tensor.storage_sizes.size()};
}

void encode(const aclTensor& tensor, const at::Tensor& values) {
  if (tensor.numel() == 0) return;
  const at::Tensor codes = codes_of(values, tensor.dtype);
  if (is_tiled(tensor.format)) {
    const at::Tensor bytes = bytes_of(flat_storage(tensor), per_byte(tensor.dtype)).memory;
    const at::Tensor blocks = at::zeros(storage_shape(tensor), at::kByte);
    pack_blocks(codes, blocks, tensor);
    const at::Tensor pairs = blocks.view({-1, 2});
    bytes.copy_(pairs.select(1, 0) + pairs.select(1, 1) * 16);
    return;
  }
  auto [bytes, skipped] = bytes_of(tensor, per_byte(tensor.dtype));
  if (per_byte(tensor.dtype) == 1) {
    viewed(bytes, tensor, bytes.storage_offset()).copy_(codes);
    return;
  }
  at::Tensor nibbles = split_nibbles(bytes);  // of neighbours that are not in the view too
  viewed(nibbles, tensor, skipped).copy_(codes);
  const at::Tensor pairs = nibbles.view({-1, 2});
  bytes.copy_(pairs.select(1, 0) + pairs.select(1, 1) * 16);
}

}  // namespace

Rounding rounding_of(const std::string& mode, const char* parameter) {
  if (mode.empty() || mode == "rint") return Rounding::kNearestEven;
  if (mode == "round") return Rounding::kNearestAway;
  if (mode == "floor") return Rounding::kFloor;
  if (mode == "ceil") return Rounding::kCeil;
  if (mode == "trunc") return Rounding::kTrunc;
  fail(ACLNN_ERR_PARAM_INVALID, parameter, " is '", mode, "'; allowed: rint, round, floor, ceil, trunc");
}

Rounding even_rounding_of(const std::string& mode, const char* parameter) {
  return mode == "round" ? Rounding::kNearestEven : rounding_of(mode, parameter);
}

const LowFormat& low_format(aclDataType dtype) {
  for (const LowFormat& format : kFormats) {
    if (format.dtype == dtype) return format;
  }
  fail(ACLNN_ERR_PARAM_INVALID, "the quantized output is ", dtype_name(dtype),
       "; allowed: int8, uint8, int4, int32 (eight 4-bit values), float8_e4m3fn, float8_e5m2, hifloat8, float4_e2m1, "
       "float4_e1m2");
}

at::Tensor rounded(const at::Tensor& values, const LowFormat& format, Rounding rounding) {
  if (format.integral) {
    at::Tensor result = values.nan_to_num(0, format.highest, format.lowest);
    round_integral(result, rounding);
    return result.clamp_(format.lowest, format.highest);
  }
  const at::Tensor bounded = values.clamp(format.lowest, format.highest);  // keeps NaN
  if (format.dtype == ACL_FLOAT8_E4M3FN || format.dtype == ACL_FLOAT8_E5M2) {
    require(rounding == Rounding::kNearestEven, ACLNN_ERR_PARAM_INVALID,
            "the rounding mode is not 'rint'; an output of 8-bit floats allows only rint");
    return bounded.to(scalar_type(format.dtype)).to(at::kFloat);
  }
  const Table& table = table_of(format.dtype);
  const at::Tensor unknown = bounded.isnan();
  const at::Tensor numbers = bounded.masked_fill(unknown, 0);
  // The device converts to hifloat8 with halves away from zero only.
  const at::Tensor magnitude =
      table.numbers.take(positions(numbers, table, format.dtype == ACL_HIFLOAT8 ? Rounding::kNearestAway : rounding));
  const at::Tensor result = magnitude.copysign(numbers);
  return format.dtype == ACL_HIFLOAT8 ? result.masked_fill(unknown, kNotANumber) : result;
}

at::Tensor pack_int4(const at::Tensor& values) {
  require(values.dim() > 0 && values.size(-1) % 8 == 0, ACLNN_ERR_PARAM_INVALID,
          "the last dimension must be divisible by 8 to be packed into int32, but the shape is ", values.sizes());
  const at::Tensor nibbles = values.to(at::kLong).bitwise_and(15).unflatten(-1, {values.size(-1) / 8, 8});
  return nibbles.__lshift__(at::arange(8) * 4).sum(-1).to(at::kInt);  // to int32 keeps the low 32 bits
}

at::Tensor unpack_int4(const at::Tensor& packed) {
  const at::Tensor nibbles = packed.unsqueeze(-1).__rshift__(at::arange(8, at::kInt) * 4).bitwise_and(15);
  return (nibbles.bitwise_xor(8) - 8).flatten(-2).to(at::kChar);  // sign of 4-bit two's complement
}

at::Tensor unpack_float4(const at::Tensor& packed) {
  static const at::Tensor numbers =
      at::tensor({0., .5, 1., 1.5, 2., 3., 4., 6., -0., -.5, -1., -1.5, -2., -3., -4., -6.}, at::kFloat);
  return numbers.take(unpack_int4(packed.contiguous().view(at::kInt)).bitwise_and(15).to(at::kLong));
}

at::Tensor unpacked_weight(const at::Tensor& weight, int64_t k) {
  const bool integers = weight.scalar_type() == at::kInt, floats = weight.scalar_type() == at::kFloat;
  if (!integers && !floats) return weight;
  const bool by_row = weight.size(-2) != k && weight.size(-2) * 8 == k;
  const at::Tensor rows = by_row ? weight.transpose(-1, -2) : weight;
  const at::Tensor values = integers ? unpack_int4(rows) : unpack_float4(rows);
  return by_row ? values.transpose(-1, -2) : values;
}

Coded& typed(Coded& out, int64_t code, const char* parameter) {
  const auto dtype = static_cast<aclDataType>(static_cast<int32_t>(code));
  require(dtype == out.dtype, ACLNN_ERR_PARAM_INVALID, "parameter '", parameter, "' is ", dtype_name(dtype),
          ", but the output is ", dtype_name(out.dtype), "; they must agree");
  return out;
}

at::Tensor& typed(at::Tensor& out, at::ScalarType dtype, const char* parameter) {
  require(dtype == out.scalar_type(), ACLNN_ERR_PARAM_INVALID, "parameter '", parameter, "' is ", dtype,
          ", but the output is ", out.scalar_type(), "; they must agree");
  return out;
}

void store(Coded& out, const at::Tensor& values, Rounding rounding) {
  if (!out.defined()) return;
  const at::Tensor result = rounded(values, out.format(), rounding);
  assign(out.values, out.dtype == ACL_INT32 ? pack_int4(result) : result);
}

void store_rows(Coded& out, at::Tensor& scale, const at::Tensor& values, double highest, Rounding rounding) {
  if (!out.defined() || values.numel() == 0) return;
  const at::Tensor factor = values.abs().amax(-1, /*keepdim=*/true) / (highest > 0 ? highest : out.format().highest);
  store(out, values / factor.masked_fill(factor == 0, 1), rounding);  // a row of zeros stays zero
  if (scale.defined()) scale.copy_(factor.reshape(scale.sizes()));
}

namespace kind {

bool is_coded(aclDataType dtype) {
  return dtype == ACL_INT4 || dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2 || dtype == ACL_HIFLOAT8;
}

StoredTensor keep_coded(const aclTensor* tensor, const char* name, bool required) {
  if (tensor == nullptr || !is_coded(tensor->dtype)) return keep_tensor(tensor, name, required);
  if (tensor->dtype == ACL_INT4 && is_tiled(tensor->format)) {
    validate_tiled(*tensor, name);
  } else {
    opwright::validate(*tensor, name);
  }
  return {*tensor};
}

at::Tensor decode(const aclTensor& tensor, Operands operands) {
  const at::ScalarType dtype = tensor.dtype == ACL_INT4 ? at::kChar : at::kHalf;
  if (operands != Operands::kMemory) return stand_in(tensor, dtype, Role::kInput, operands);
  if (tensor.numel() == 0) return at::empty(at::IntArrayRef(tensor.sizes.data(), tensor.sizes.size()), dtype);
  if (is_tiled(tensor.format)) {
    const at::Tensor bytes = bytes_of(flat_storage(tensor), per_byte(tensor.dtype)).memory;
    const at::Tensor codes = unpack_blocks(split_nibbles(bytes).view(storage_shape(tensor)), tensor);
    return (codes.to(at::kChar).bitwise_xor(8) - 8).to(at::kChar);
  }
  const auto [bytes, skipped] = bytes_of(tensor, per_byte(tensor.dtype));
  const at::Tensor codes =
      viewed(per_byte(tensor.dtype) == 2 ? split_nibbles(bytes) : bytes.clone(), tensor, skipped).contiguous();
  if (tensor.dtype == ACL_INT4) return (codes.to(at::kChar).bitwise_xor(8) - 8).to(at::kChar);
  return table_of(tensor.dtype).decoded.take(codes.to(at::kLong));
}

Coded open_coded(const StoredTensor& stored, Operands operands) {
  if (!stored.desc) return {};
  const aclTensor& desc = *stored.desc;
  if (operands != Operands::kMemory) {
    const at::ScalarType dtype = is_coded(desc.dtype) ? at::kFloat : scalar_type(desc.dtype);
    return {stand_in(desc, dtype, Role::kOutput, operands), desc.dtype};
  }
  if (!is_coded(desc.dtype)) return {open_tensor(stored, scalar_type(desc.dtype)).seen, desc.dtype};
  return {at::zeros(at::IntArrayRef(desc.sizes.data(), desc.sizes.size()), at::kFloat), desc.dtype};
}

void close_coded(const Coded& value, const StoredTensor& stored, const char* name) {
  if (is_coded(stored)) {
    encode(*stored.desc, value.values);
  } else {
    close_output({value.values, {}}, stored, name);
  }
}

}  // namespace kind

template struct OperationsOf<kind::DtypeCode>;
template struct OperationsOf<kind::CodedIn>;
template struct OperationsOf<kind::CodedOut>;
template struct OperationsOf<kind::OptCodedOut>;

}  // namespace opwright::opapi
