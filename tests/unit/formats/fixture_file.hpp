#pragma once
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace inboxd::formats::test {

/// The bytes that hexadecimal digits stand for.
inline std::string bytes_of(const std::string& digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return out;
}

/// A file of fixtures/, which the scripts there write.
inline nlohmann::json fixture_file(const std::string& name) {
  std::ifstream file{std::string{FORMAT_FIXTURES} + "/" + name};
  return nlohmann::json::parse(file);
}

}  // namespace inboxd::formats::test
