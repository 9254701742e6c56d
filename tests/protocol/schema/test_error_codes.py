from __future__ import annotations

from kafkactl.protocol.schema.error_codes import error_code, error_codes


def test_error_is_found_by_its_number() -> None:
    assert (error_code(41).name, error_code(41).retriable) == ("NOT_CONTROLLER", True)
    assert (error_code(126).name, error_code(126).retriable) == ("DUPLICATE_VOTER", False)
    assert error_code(-1).name == "UNKNOWN_SERVER_ERROR"
    assert error_code(0).name == "NONE"


def test_code_of_a_newer_kafka_is_said_to_be_unknown() -> None:
    code = error_code(31999)
    assert (code.name, code.known, code.retriable) == ("UNKNOWN_ERROR_CODE_31999", False, False)


def test_codes_and_names_are_unique_and_leave_no_gap() -> None:
    codes = error_codes()
    assert [code.code for code in codes] == list(range(-1, len(codes) - 1))
    assert len({code.name for code in codes}) == len(codes)
