// The handler `sql` runs a statement or a function in the transaction that also records the outcomes. Settings:
// settings.hpp.
// The events themselves do not travel through here: the database reads them from the inbox.
#include <inboxd/sql.h>

#include <cstdio>
#include <exception>
#include <inboxd/handler.hpp>
#include <memory>

#include "bisection.hpp"
#include "mistake.hpp"
#include "sql_failure.hpp"
#include "sql_statement.hpp"

namespace {

using sql_handler::Failure;
using sql_handler::Statement;

struct Instance {
  Statement statement;
  sql_handler::Permanent permanent;
};

bool requires_json(const inboxd::Settings& settings, bool otherwise) {
  if (!settings.has("body")) return otherwise;
  const std::string body = settings.text("body");
  if (body == "required" || body == "optional") return body == "required";
  throw inboxd::SettingsError{"setting 'body' is '" + body + "'; it must be required or optional"};
}

Statement configured(const inboxd::Settings& settings) {
  const bool function = settings.has("function");
  if (function == settings.has("statement")) {
    const bool has_others = settings.has("permanent") || settings.has("body");
    if (!function && !has_others) settings.finish();  // a misspelt name is the mistake
    throw inboxd::SettingsError{function ? "settings 'statement' and 'function' exclude each other; give one of them"
                                         : "setting 'statement' or 'function' is missing; give one of them"};
  }
  return function ? sql_handler::from_function(settings.text("function"))
                  : sql_handler::from_statement(settings.text("statement"));
}

/// Lets the database parse the statement. Says nothing if the database is away or busy: the first call will tell.
void check(const inboxd_host* host, const Statement& statement) {
  const auto* const sql = static_cast<const inboxd_sql_host*>(host->extension(host, INBOXD_SQL));
  if (sql == nullptr) return;
  inboxd_sql_statement question = inboxd_sql_query(statement.text.c_str(), nullptr, 0);
  question.flags = INBOXD_SQL_WITH_EVENTS;
  question.count = INBOXD_THE_REST;
  const inboxd_sql_result* const answer = sql->describe(host, &question);
  if (answer == nullptr || answer->error == nullptr) return;
  const Failure failure{*answer->error};
  if (!is_passing(failure)) throw inboxd::SettingsError{sentence_of(failure, statement)};
  inboxd::Log{host}.warn("the statement could not be checked now: " + failure.message);
}

void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) noexcept {
  try {
    const inboxd::Settings settings{host, config};
    auto instance = std::make_unique<Instance>();
    instance->statement = configured(settings);
    instance->statement.requires_json = requires_json(settings, instance->statement.requires_json);
    if (settings.has("permanent")) instance->permanent = sql_handler::Permanent{settings.text("permanent")};
    settings.finish();
    check(host, instance->statement);
    return instance.release();
  } catch (const std::exception& thrown) {
    std::snprintf(error, error_size, "%s", thrown.what());
    return nullptr;
  }
}

void handle(void* pointer, inboxd_call* call, const inboxd_event* const*, size_t count) noexcept {
  const Instance& instance = *static_cast<const Instance*>(pointer);
  const auto* const sql = static_cast<const inboxd_sql*>(call->extension(call, INBOXD_SQL));
  try {
    sql_handler::Bisection{call, *sql, instance.statement, instance.permanent}.run(count);
  } catch (const std::exception& thrown) {
    inboxd_retry(call, INBOXD_THE_REST, INBOXD_POLICY_DELAY, "exception", thrown.what());
  }
}

void destroy(void* pointer) noexcept { delete static_cast<Instance*>(pointer); }

}  // namespace

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host*) {
  static const char* const needs[] = {INBOXD_SQL, INBOXD_SQL_WITHOUT_PAYLOADS, nullptr};
  static const inboxd_plugin plugin = {
      sizeof(inboxd_plugin), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "sql", INBOXD_VERSION, needs, create, handle, destroy};
  return &plugin;
}
