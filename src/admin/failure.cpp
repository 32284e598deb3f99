#include "admin/failure.hpp"

namespace inboxd::admin {

using base::ExitCode;

Answer answer_for(const inbox::DatabaseFailure& failure, const std::string& where) {
  const std::string place = "database " + (where.empty() ? std::string{"(from PG* variables)"} : where);
  const std::string& said = failure.message;
  if (failure.sqlstate == "42501") {
    return {ExitCode::not_allowed, nullptr,
            place + ": not allowed: " + said + "; use a role that may (sql/README.md tells which)"};
  }
  if (inbox::is_missing(failure.sqlstate)) {
    return {ExitCode::try_again, nullptr, place + ": the inbox is not there, or older than this program: " + said +
                                       "; run `inboxd migrate`"};
  }
  if (failure.sqlstate == "25000") {  // inbox.need_fresh_snapshots, which says what to set
    return {ExitCode::configuration, nullptr, place + ": " + said};
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
