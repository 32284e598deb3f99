#include "operations/key_argument.hpp"

#include <charconv>

#include "base/text.hpp"

namespace inboxd::operations {
namespace {

std::optional<std::string> bytes_of_hex(const std::string& hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned char byte = 0;
    const char* const end = hex.data() + i + 2;
    const auto read = std::from_chars(hex.data() + i, end, byte, 16);
    if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

}  // namespace

KeyArgument read_key(const std::string& verb, const Arguments& arguments) {
  KeyArgument out;
  out.key = arguments.text("key");
  const auto hex = arguments.text("key-hex");
  if (!hex) return out;
  if (out.key) {
    out.refusal = Answer{base::ExitCode::usage, nullptr, verb + ": pass --key or --key-hex, not both"};
    return out;
  }
  out.key = bytes_of_hex(*hex);
  if (!out.key) {
    out.refusal = Answer{base::ExitCode::usage, nullptr,
                         verb + ": --key-hex " + base::json_quote(base::shorten(*hex, 100)) +
                             ": not hexadecimal; pass two digits for each byte of the key"};
  }
  return out;
}

}  // namespace inboxd::operations
