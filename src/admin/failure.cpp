#include "admin/failure.hpp"

#include <algorithm>

namespace inboxd::admin {
namespace {

using base::ExitCode;

bool is_missing_object(const std::string& sqlstate) {
  return sqlstate == "42P01" || sqlstate == "3F000" || sqlstate == "42883" || sqlstate == "42703";
}

/// The server's own sentence: what stands behind the SQLSTATE in its verbose form; without one, all lines as one.
std::string sentence_of(const inbox::DatabaseFailure& failure) {
  std::string_view text = failure.message;
  if (const auto at = text.find(failure.sqlstate + ": "); !failure.sqlstate.empty() && at != std::string_view::npos) {
    text.remove_prefix(at + failure.sqlstate.size() + 2);
    text = text.substr(0, text.find('\n'));
  }
  std::string out{text};
  std::replace_if(out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  out.erase(std::unique(out.begin(), out.end(), [](char a, char b) { return a == ' ' && b == ' '; }), out.end());
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

Answer answer_for(const inbox::DatabaseFailure& failure, const std::string& where) {
  const std::string place = "database " + (where.empty() ? std::string{"(from PG* variables)"} : where);
  const std::string said = sentence_of(failure);
  if (failure.sqlstate == "42501") {
    return {ExitCode::not_allowed, nullptr,
            place + ": not allowed: " + said + "; use a role that may (sql/README.md tells which)"};
  }
  if (is_missing_object(failure.sqlstate)) {
    return {ExitCode::try_again, nullptr, place + ": the inbox is not there, or older than this program: " + said +
                                       "; run `inboxd migrate`"};
  }
  switch (failure.fault) {
    case inbox::Fault::reconnect: return {ExitCode::unavailable, nullptr, place + ": not reached: " + said};
    case inbox::Fault::in_doubt:
      return {ExitCode::unavailable, nullptr,
              place + ": the connection broke while it worked, look what was done before you repeat it: " + said};
    case inbox::Fault::retry: return {ExitCode::try_again, nullptr, place + ": busy, try again later: " + said};
    case inbox::Fault::poison:
    case inbox::Fault::stop: break;
  }
  return {ExitCode::bug, nullptr, place + ": refused: " + said};
}

}  // namespace inboxd::admin
