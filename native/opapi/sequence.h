// native/opapi/sequence.h
// Preprocessor iteration over a parameter list written as (In, self)(Out, out). Each macro of the pair consumes one
// element and leaves the other's name behind, so any number of elements works; _END removes what is left over.
#pragma once

#define OPWRIGHT_END_(...) __VA_ARGS__##_END
#define OPWRIGHT_END(...) OPWRIGHT_END_(__VA_ARGS__)
#define OPWRIGHT_DROP_FIRST_(first, ...) __VA_ARGS__
#define OPWRIGHT_DROP_FIRST(...) OPWRIGHT_DROP_FIRST_(__VA_ARGS__)

// In, Out
#define OPWRIGHT_KINDS(SEQ) OPWRIGHT_DROP_FIRST(OPWRIGHT_END(OPWRIGHT_KIND_A SEQ))
#define OPWRIGHT_KIND_A(KIND, NAME) , ::opwright::opapi::kind::KIND OPWRIGHT_KIND_B
#define OPWRIGHT_KIND_B(KIND, NAME) , ::opwright::opapi::kind::KIND OPWRIGHT_KIND_A
#define OPWRIGHT_KIND_A_END
#define OPWRIGHT_KIND_B_END

// Facts about the kinds, for their layout: &kFactsOf<In>, &kFactsOf<Out>
#define OPWRIGHT_FACTS(SEQ) OPWRIGHT_DROP_FIRST(OPWRIGHT_END(OPWRIGHT_FACTS_A SEQ))
#define OPWRIGHT_FACTS_A(KIND, NAME) , &::opwright::opapi::kFactsOf<::opwright::opapi::kind::KIND> OPWRIGHT_FACTS_B
#define OPWRIGHT_FACTS_B(KIND, NAME) , &::opwright::opapi::kFactsOf<::opwright::opapi::kind::KIND> OPWRIGHT_FACTS_A
#define OPWRIGHT_FACTS_A_END
#define OPWRIGHT_FACTS_B_END

// "self", "out"
#define OPWRIGHT_NAMES(SEQ) OPWRIGHT_DROP_FIRST(OPWRIGHT_END(OPWRIGHT_NAME_A SEQ))
#define OPWRIGHT_NAME_A(KIND, NAME) , #NAME OPWRIGHT_NAME_B
#define OPWRIGHT_NAME_B(KIND, NAME) , #NAME OPWRIGHT_NAME_A
#define OPWRIGHT_NAME_A_END
#define OPWRIGHT_NAME_B_END

// &self, &out
#define OPWRIGHT_ADDRESSES(SEQ) OPWRIGHT_DROP_FIRST(OPWRIGHT_END(OPWRIGHT_ADDRESS_A SEQ))
#define OPWRIGHT_ADDRESS_A(KIND, NAME) , &NAME OPWRIGHT_ADDRESS_B
#define OPWRIGHT_ADDRESS_B(KIND, NAME) , &NAME OPWRIGHT_ADDRESS_A
#define OPWRIGHT_ADDRESS_A_END
#define OPWRIGHT_ADDRESS_B_END

// const aclTensor* self, aclTensor* out
#define OPWRIGHT_C_PARAMS(SEQ) OPWRIGHT_DROP_FIRST(OPWRIGHT_END(OPWRIGHT_C_A SEQ))
#define OPWRIGHT_C_A(KIND, NAME) , ::opwright::opapi::kind::KIND::C NAME OPWRIGHT_C_B
#define OPWRIGHT_C_B(KIND, NAME) , ::opwright::opapi::kind::KIND::C NAME OPWRIGHT_C_A
#define OPWRIGHT_C_A_END
#define OPWRIGHT_C_B_END

// The parameters that the body sees: const at::Tensor& self, at::Tensor& out
#define OPWRIGHT_BODY_PARAMS(SEQ) OPWRIGHT_DROP_FIRST(OPWRIGHT_END(OPWRIGHT_BODY_A SEQ))
#define OPWRIGHT_BODY_A(KIND, NAME) , [[maybe_unused]] ::opwright::opapi::kind::KIND::Body NAME OPWRIGHT_BODY_B
#define OPWRIGHT_BODY_B(KIND, NAME) , [[maybe_unused]] ::opwright::opapi::kind::KIND::Body NAME OPWRIGHT_BODY_A
#define OPWRIGHT_BODY_A_END
#define OPWRIGHT_BODY_B_END
