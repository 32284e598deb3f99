#include "transaction/sql_space.hpp"

#include <algorithm>
#include <cctype>

namespace inboxd::transaction {
namespace {

std::size_t end_of_comment(std::string_view sql, std::size_t at) {
  int depth = 0;
  do {
    const std::string_view next = sql.substr(at, 2);
    const int change = next == "/*" ? 1 : next == "*/" ? -1 : 0;
    depth += change;
    at += change == 0 ? 1 : 2;
  } while (depth > 0 && at < sql.size());
  return std::min(at, sql.size());
}

}  // namespace

std::size_t end_of_space(std::string_view sql, std::size_t at) {
  while (at < sql.size()) {
    const std::string_view next = sql.substr(at, 2);
    if (std::isspace(static_cast<unsigned char>(sql[at])) != 0) {
      ++at;
    } else if (next == "--") {
      at = std::min(sql.find_first_of("\n\r", at), sql.size());
    } else if (next == "/*") {
      at = end_of_comment(sql, at);
    } else {
      break;
    }
  }
  return at;
}

}  // namespace inboxd::transaction
