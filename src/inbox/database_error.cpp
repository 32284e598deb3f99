#include "inbox/database_error.hpp"

#include <algorithm>
#include <array>
#include <pqxx/pqxx>

namespace inboxd::inbox {
namespace {

constexpr std::array<std::string_view, 10> poison{"22001", "22003", "22007", "22008", "22021",
                                                  "22023", "22P02", "22P03", "22P05", "54000"};

constexpr std::array<std::string_view, 3> retry{"55P03", "57014", "55006"};

/// The server shuts down, is a standby (25006), or ended an idle transaction (25P03). A pooler that does not support
/// prepared statements causes 26000 and 42P05.
constexpr std::array<std::string_view, 8> reconnect{"57P01", "57P02", "57P03", "57P05",
                                                    "25006", "25P03", "26000", "42P05"};

constexpr std::array<std::string_view, 5> missing{"42P01", "42703", "42704", "42883", "3F000"};

template <std::size_t size>
bool contains(const std::array<std::string_view, size>& list, std::string_view state) {
  return std::find(list.begin(), list.end(), state) != list.end();
}

}  // namespace

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::retry:
      return "retry";
    case Fault::reconnect:
      return "reconnect";
    case Fault::in_doubt:
      return "in doubt";
    case Fault::poison:
      return "poison";
    case Fault::stop:
      return "stop";
  }
  return "stop";
}

Fault fault_of(std::string_view sqlstate) {
  if (sqlstate == "08007" || sqlstate == "40003") return Fault::in_doubt;
  if (contains(poison, sqlstate)) return Fault::poison;
  if (contains(retry, sqlstate)) return Fault::retry;
  if (contains(reconnect, sqlstate)) return Fault::reconnect;
  const auto error_class = sqlstate.substr(0, 2);
  if (error_class == "40" || error_class == "53") return Fault::retry;
  if (error_class == "08" || sqlstate.empty()) return Fault::reconnect;
  return Fault::stop;
}

bool is_missing(std::string_view sqlstate) { return contains(missing, sqlstate); }

bool is_login_refused(std::string_view sqlstate) { return sqlstate == "28P01" || sqlstate == "28000"; }

bool is_unusable_database(std::string_view sqlstate) { return sqlstate == "3D000" || sqlstate == wrong_encoding; }

std::string sentence_of(std::string_view text, std::string_view sqlstate) {
  const std::string mark = std::string{sqlstate} + ": ";
  if (const auto at = text.find(mark); !sqlstate.empty() && at != std::string_view::npos) {
    text.remove_prefix(at + mark.size());
    text = text.substr(0, text.find('\n'));
  }
  std::string out{text};
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  out.erase(std::unique(out.begin(), out.end(), [](char a, char b) { return a == ' ' && b == ' '; }), out.end());
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

DatabaseFailure describe(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const DatabaseError& error) {
    DatabaseFailure failure = error.failure();
    failure.message = sentence_of(failure.message, failure.sqlstate);
    return failure;
  } catch (const pqxx::failure& error) {
    return {Fault::stop, "", error.what()};
  }
}

DatabaseFailure describe_any(std::exception_ptr thrown) {
  try {
    return describe(std::move(thrown));
  } catch (const std::exception& error) {
    return {Fault::stop, "", std::string{not_a_database_error} + error.what()};
  }
}

}  // namespace inboxd::inbox
