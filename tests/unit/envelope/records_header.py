"""Records as C++: the headers that make_library_records.py and make_debezium_records.py write."""


def raw(text):
    assert ')"' not in text
    return "\n      ".join('R"(' + text[at:at + 100] + ')"' for at in range(0, len(text), 100))


def literal(digits):
    """Bytes in hexadecimal digits as a C++ expression; text stays text."""
    if digits is None:
        return "std::nullopt"
    data = bytes.fromhex(digits)
    if not all(0x20 <= byte < 0x7F for byte in data):
        return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"sv'
    text = data.decode()
    return raw(text) if '"' in text or "\\" in text or len(text) > 80 else f'"{text}"'


def pair(name, digits):
    value = literal(digits)
    gap = "\n      " if len(name) + value.find("\n") > 100 or len(name) + len(value) > 100 else " "
    return f'\n       {{"{name}",{gap}{value}}}'


def record(item):
    """A function that returns the record of {"name", "headers", "value", "key"}; key may be missing."""
    headers = ",".join(pair(name, digits) for name, digits in item["headers"])
    key = f",\n      {literal(item['key'])}" if "key" in item else ""
    return (f"inline WrittenRecord {item['name']}() {{\n  return {{\n      {{{headers}}},\n"
            f"      {literal(item['value'])}{key}}};\n}}\n\n")


def header(script, functions):
    return (f'// Written by {script}.\n#pragma once\n#include "records.hpp"\n\n'
            f"namespace inboxd::envelope::test {{\n\n{functions}}}  // namespace inboxd::envelope::test\n")
