// Answers about a process, its configuration and its database's migrations.
#include "operations/answers.hpp"
#include "operations/documents.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::operations::answers {
namespace {

using namespace schema;

Document since_start() {
  return object({{"stored", integer()},
                 {"duplicates", integer()},
                 {"quarantined", integer()},
                 {"conflicts", integer()},
                 {"done", integer()},
                 {"retried", integer()},
                 {"dead", integer()},
                 {"expired", integer()},
                 {"leases_lost", integer()}});
}

}  // namespace

Document history_show() {
  const auto steps = [](const std::string& about) { return list(or_null(number(about))); };
  Document topic = object({{"in_per_s", steps("records stored, absorbed or quarantined")},
                           {"lag", steps("records")},
                           {"lag_s", steps("since the logs ended at the present position")},
                           {"quarantined", steps("in the step")}});
  Document handler = object({{"done_per_s", steps("events")},
                             {"failed_per_s", steps("attempts")},
                             {"p50_ms", steps("of a call; of several instances the slowest")},
                             {"p99_ms", steps("of a call; of several instances the slowest")},
                             {"busy", steps("running calls")},
                             {"allowed", integer("calls that may run at once")},
                             {"waiting", steps("pending events; counted to a limit")},
                             {"blocked_keys", steps("of the sequences that live instances run")},
                             {"dead", steps("dead letters; counted to a limit")},
                             {"failures", map(steps("attempts in the step; by error class, other for the rest"))}});
  return object({{"now", time()},
                 {"end", or_null(time("of the last step; null: none has ended yet"))},
                 {"step_s", integer()},
                 {"steps", integer("the length of every list, oldest first; null: unknown")},
                 {"instances", list(object({{"instance", uuid()},
                                            {"host", text()},
                                            {"since", time("its start")},
                                            {"merged", word({"memory", "heartbeat"})}}))},
                 {"topics", map(std::move(topic))},
                 {"handlers", map(std::move(handler))},
                 {"crashes", steps("instances that ended without a stop, by their last heartbeat")},
                 {"marks", list(object({{"at", time()},
                                        {"kind", word({"start", "stop", "crash", "reload", "handlers", "operator",
                                                       "fault", "recovered"})},
                                        {"text", text()},
                                        {"who", or_null(text("an operator; null without a token"))}}))}});
}

Document instance_show() {
  return object({{"instance_id", uuid()},
                 {"version", text()},
                 {"started_at", time()},
                 {"group", text()},
                 {"state", word({"starting", "running", "stopping"})},
                 {"paused", flag(), false},
                 {"partitions", list(schema_of(columns::partition_here)), false},
                 {"handlers", list(schema_of(columns::handler_here)), false},
                 {"since_start", since_start(), false}});
}

Document instance_paused() { return object({{"dry_run", flag("nothing was changed")}, {"paused", flag()}}); }

Document check() {
  return object({{"ok", flag("no problem")},
                 {"findings", list(object({{"result", word({"ok", "warning", "problem", "refused", "unreachable"})},
                                           {"subject", text("`database`, `topic orders`")},
                                           {"message", text("the fact, then the remedy")}}))}});
}

Document config_show() {
  return object({{"file", text()},
                 {"settings", list(object({{"key", text("`handlers[0].retry.base`")},
                                           {"value", anything("secrets are ********")},
                                           {"text", text("the value as YAML")},
                                           {"origin", word({"default", "file", "handler_defaults"})},
                                           {"line", integer("in the file as read; none for a default"), false},
                                           {"column", integer(), false}}))}});
}

Document config_reference() { return object({{"reference", text("Markdown, or YAML")}}); }

Document config_schema() { return map(anything("of JSON Schema")); }

Document migrate() {
  return object({{"applied", integer("the last migration of the database")},
                 {"known", integer("the last migration of this program")},
                 {"due", list(text("a migration's name"))},
                 {"changed", list(text("a migration that was applied with another text"))},
                 {"sql", list(text("of each due migration, with `plan`")), false}});
}

Document version() { return object({{"inboxd", text()}, {"libraries", map(text("its version"))}}); }

}  // namespace inboxd::operations::answers
