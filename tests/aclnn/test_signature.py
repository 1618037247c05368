"""C signatures of aclnn functions: what is read, and how mistakes are reported."""

from __future__ import annotations

import pytest

from opwright.aclnn.signature import CType, SignatureError, parse_signature

WHERE = "ops.py:7"


def test_the_short_form() -> None:
    signature = parse_signature(
        "aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)", where=WHERE
    )
    assert signature.name == "aclnnAddCustom"
    assert [parameter.role for parameter in signature.parameters] == ["input", "input", "output"]


def test_the_declaration_of_phase_1_with_all_that_a_header_has_around_it() -> None:
    declaration = """
    /* adds */ extern "C" __attribute__((visibility("default")))
    aclnnStatus aclnnAddCustomGetWorkspaceSize(  // phase 1
        const aclTensor* x, const aclTensorList*xs, char *mode, aclDataType dtype, int n,
        aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);
    """
    signature = parse_signature(declaration, where=WHERE)
    assert str(signature) == (
        "aclnnAddCustom(const aclTensor *x, const aclTensorList *xs, char *mode, "
        "aclDataType dtype, int32_t n, aclTensor *out)"
    )


@pytest.mark.parametrize("ctype", CType)
def test_the_text_of_a_signature_reads_back(ctype: CType) -> None:
    star = "*" if ctype.is_pointer else ""
    text = f"aclnnF(const aclTensor *x, {ctype.value} {star}value, aclTensor *out)"
    signature = parse_signature(text, where=WHERE)
    assert str(signature) == text
    assert parse_signature(str(signature), where=WHERE) == signature


def test_names_tell_optional_parameters_refs_and_outputs() -> None:
    text = (
        "aclnnF(aclTensor *varRef, const aclTensor *biasOptional, aclTensor *maskRefOptional, "
        "int64_t axisOptional, const aclTensor *yOut, const aclTensor *out)"
    )
    parameters = parse_signature(text, where=WHERE).parameters
    assert [(p.role, p.optional) for p in parameters] == [
        ("ref", False),
        ("input", True),
        ("ref", True),
        ("attribute", False),  # a number cannot be null
        ("output", False),  # CANN's generator declares outputs const
        ("output", False),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "add two tensors",
            (
                "OPW-K001 not an aclnn signature\n"
                "  where:   ops.py:7\n"
                "  got:     'add two tensors'\n"
                "  fix:     write the parameters of phase 1 in C, for example "
                "aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)"
            ),
        ),
        (
            "aclnnF(aclTensr *x)",
            (
                "OPW-K001 not an aclnn signature\n"
                "  where:   ops.py:7, aclnnF, parameter x\n"
                "  got:     type 'aclTensr'\n"
                "  allowed: aclTensor, aclTensorList, aclBoolArray, aclDataType, aclFloatArray, "
                "aclIntArray, aclScalar, aclScalarList, bool, char, double, float, int16_t, "
                "int32_t, int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t\n"
                "  fix:     use one of the types that an aclnn function can take"
            ),
        ),
        (
            "aclnnF(aclTensor x)",
            (
                "OPW-K001 not an aclnn signature\n"
                "  where:   ops.py:7, aclnnF, parameter x\n"
                "  got:     'aclTensor x'\n"
                "  fix:     pass aclTensor by pointer"
            ),
        ),
        (
            "aclnnF(double *x)",
            (
                "OPW-K001 not an aclnn signature\n"
                "  where:   ops.py:7, aclnnF, parameter x\n"
                "  got:     'double *x'\n"
                "  fix:     pass double by value"
            ),
        ),
        (
            "aclnnF(aclTensor *x, aclTensor **y)",
            (
                "OPW-K001 not an aclnn signature\n"
                "  where:   ops.py:7, aclnnF\n"
                "  got:     parameter 'aclTensor **y'\n"
                "  fix:     write each parameter as TYPE NAME, for example const aclTensor *x"
            ),
        ),
        (
            "aclnnF(aclTensor *x, aclTensor *x)",
            (
                "OPW-K001 not an aclnn signature\n"
                "  where:   ops.py:7, aclnnF\n"
                "  got:     two parameters of one name\n"
                "  fix:     give each parameter its own name"
            ),
        ),
        (
            "aclnnFGetWorkspaceSize(aclTensor *x)",
            (
                "OPW-K001 not an aclnn signature\n"
                "  where:   ops.py:7, aclnnF\n"
                "  got:     GetWorkspaceSize that ends with 'aclTensor *x'\n"
                "  fix:     end it with uint64_t *workspaceSize, aclOpExecutor **executor, or "
                "leave out GetWorkspaceSize and both"
            ),
        ),
    ],
)
def test_a_wrong_text_is_reported_with_its_place_and_cure(text: str, message: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse_signature(text, where=WHERE)
    assert str(caught.value) == message
