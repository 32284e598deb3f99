#include "operations/operation.hpp"

#include "inbox/login_refusal.hpp"
#include "operations/handler_queries.hpp"

namespace inboxd::operations {
namespace {

using base::ExitCode;

std::string path_of_verb(const std::string& verb) {
  std::string out = "/v1/" + verb;
  std::replace(out.begin(), out.end(), ' ', '/');
  return out;
}

}  // namespace

std::string path_of(const Operation& operation) { return path_of_verb(operation.verb); }

bool is_path_of(const Operation& operation, const std::string& path) {
  return path == path_of(operation) || std::any_of(operation.aliases.begin(), operation.aliases.end(),
                                                   [&](const auto& alias) { return path == path_of_verb(alias); });
}

Answer run(const Operation& operation, Context& context, Arguments arguments) {
  if (operation.needs == Needs::database && arguments.given().contains("handler")) {
    const auto present = present_handler_name(*context.connection, *arguments.text("handler"));
    if (present) arguments.set_text("handler", *present);
  }
  return operation.function(context, arguments);
}

Answer answer_for(const inbox::DatabaseFailure& failure, const std::string& where) {
  const std::string place = "database " + (where.empty() ? std::string{"(from PG* variables)"} : where);
  const std::string& said = failure.message;
  if (failure.sqlstate == "42501") {
    return {ExitCode::not_allowed, nullptr,
            place + ": not allowed: " + said + "; use a role with this right (sql/README.md lists the roles)"};
  }
  if (inbox::is_login_refused(failure.sqlstate)) {
    return {ExitCode::not_allowed, nullptr,
            place + ": not allowed: " + said + "; " + inbox::login_remedy(said)};
  }
  // Before PostgreSQL 16 a session that cannot write a file of its catalog cache has no SQLSTATE of its own. The words
  // are in English everywhere.
  if (failure.sqlstate == "53100" || said.find("could not write init file") != std::string::npos) {
    return {ExitCode::unavailable, nullptr,
            place + ": no disk space left on its server: " + said + "; free some: the daemon waits and loses nothing"};
  }
  if (inbox::is_unusable_database(failure.sqlstate)) return {ExitCode::configuration, nullptr, place + ": " + said};
  if (inbox::is_missing(failure.sqlstate)) {
    return {ExitCode::try_again, nullptr,
            place + ": the schema is missing or older than this program: " + said + "; run `inboxd migrate`"};
  }
  if (failure.sqlstate == "25000") {  // raised by inbox.require_read_committed, whose message has the remedy
    return {ExitCode::configuration, nullptr, place + ": " + said};
  }
  switch (failure.fault) {
    case inbox::Fault::reconnect:
      return {ExitCode::unavailable, nullptr, place + ": not reached: " + said};
    case inbox::Fault::in_doubt:
      return {
          ExitCode::unavailable, nullptr,
          place + ": the connection broke, the outcome is unknown: " + said + "; check before you repeat the command"};
    case inbox::Fault::retry:
      return {ExitCode::try_again, nullptr, place + ": busy: " + said + "; try again later"};
    case inbox::Fault::poison:
    case inbox::Fault::stop:
      break;
  }
  return {ExitCode::bug, nullptr, place + ": refused: " + said};
}

}  // namespace inboxd::operations
