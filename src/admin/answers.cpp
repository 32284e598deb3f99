#include "admin/answers.hpp"

#include "admin/schema.hpp"

namespace inboxd::admin::answers {
namespace {

using namespace schema;

Document bytes_component() {
  Document out = any_of({text(), object({{"base64", text()}})});
  out["description"] = "As text where they are UTF-8, else in base64.";
  return out;
}

/// What a producer wrote, and producers write anything.
Document producers_time(const std::string& whose) {
  return text(whose + "; RFC 3339, unless the year has more than four digits or is before Christ");
}

Document event_summary() {
  return object({{"event_id", uuid()},
                 {"source_id", text("the producer's own id; event_id's text where that is one")},
                 {"topic", text()},
                 {"partition", integer()},
                 {"offset", integer()},
                 {"event_type", text("empty: it has none")},
                 {"source", or_null(text())},
                 {"subject", or_null(text())},
                 {"key", or_null(bytes())},
                 {"key_is_cut", flag("the key is longer than what is shown"), false},
                 {"payload_size", or_null(integer("bytes; null: a tombstone"))},
                 {"occurred_at", or_null(producers_time("by the producer's clock"))},
                 {"kafka_timestamp", or_null(producers_time("the record's"))},
                 {"received_at", time("when it was stored, by the database's clock")}});
}

Document headers() { return list(object({{"name", bytes()}, {"value", or_null(bytes())}})); }

Document whole_event() { return extended(event_summary(), {{"headers", headers()}, {"payload", or_null(bytes())}}); }

/// What is known of an event: of one that is purged and not dead, the place and the id alone.
Document event_on_record() {
  Document out = whole_event();
  out["properties"]["shard_id"] = integer("of a purged one");
  out["required"] = {"event_id", "offset"};
  return extended(out, {{"is_purged", flag("its content is not kept any more, or in a dead letter alone")}});
}

Document worker() { return object({{"host", text()}, {"process_id", integer()}}); }

Document handler_result() {
  return object(
      {{"handler", text()},
       {"state", word({"due", "leased", "retrying", "done", "dead", "expired", "parked", "skipped", "discarded"})},
       {"attempts", integer()},
       {"due_at", or_null(time("of what is leased: when the lease ends"))},
       {"finished_at", or_null(time())},
       {"last_error", or_null(text())},
       {"worker", or_null(reference("Worker"))},
       {"paused_reason", or_null(text()), false},
       {"dead_letter_id", integer(), false}});
}

Document failure() {
  return object({{"handler", text()},
                 {"attempt", integer("1 is the first")},
                 {"occurred_at", time()},
                 {"error_class", text()},
                 {"message", text()},
                 {"duration_seconds", or_null(number())}});
}

Document moment() {
  return object({{"at", producers_time("the producer's, Kafka's or the database's clock")},
                 {"what", text()},
                 {"handler", or_null(text())},
                 {"detail", text()}});
}

Document dead_letter(const std::string& event) {
  return object({{"dead_letter_id", integer()},
                 {"handler", text()},
                 {"state", word({"dead", "expired", "parked"})},
                 {"attempts", integer()},
                 {"died_at", time()},
                 {"error_class", text("of the last failure")},
                 {"last_error", text()},
                 {"notes", or_null(text())},
                 {"event", reference(event)}});
}

Document reason() {
  return object({{"attempt", integer()}, {"occurred_at", time()}, {"error_class", text()}, {"message", text()}});
}

Document quarantined_record() {
  return object({{"quarantine_id", integer()},
                 {"reason", text()},
                 {"detail", text()},
                 {"event_id", or_null(uuid())},
                 {"topic", text()},
                 {"partition", integer()},
                 {"offset", integer()},
                 {"key", or_null(bytes())},
                 {"key_is_cut", flag("the key is longer than what is shown"), false},
                 {"payload_size", or_null(integer("bytes"))},
                 {"kafka_timestamp", or_null(producers_time("the record's"))},
                 {"received_at", time()}});
}

Document range() { return object({{"from", integer()}, {"to", integer("the first that is not in it")}}); }

Document shard() {
  return object({{"shard_id", integer()},
                 {"source", text()},
                 {"topic", text()},
                 {"partition", integer()},
                 {"incarnation", text("the topic's id")},
                 {"is_newest", flag("no later incarnation is known")},
                 {"epoch", or_null(integer())},
                 {"position", or_null(integer("the next offset to be stored"))},
                 {"high_watermark", or_null(integer())},
                 {"lag", or_null(integer("records"))},
                 {"halted_reason", or_null(text())},
                 {"halted_at", or_null(time())},
                 {"what_to_do", or_null(text("where it is halted"))},
                 {"gap", or_null(reference("OffsetRange"))},
                 {"new_incarnation", or_null(text("waits for `shards accept-incarnation`"))},
                 {"accepted_gaps", list(reference("OffsetRange"))}});
}

/// A number and, where there are more, `at_least_NAME: true`.
Document with_count(Document object, const std::string& name, const std::string& about) {
  return extended(std::move(object),
                  {{name, integer(about)}, {"at_least_" + name, flag("there are more; counting ended"), false}});
}

Document handler() {
  Document out = object({{"handler", text()},
                         {"mode", text()},
                         {"topics", list(text("exact, or a prefix and *"))},
                         {"types", list(text())},
                         {"started_from", text()},
                         {"paused_reason", or_null(text())},
                         {"retired_at", or_null(time())}});
  out = with_count(std::move(out), "due", "events that anybody may take now");
  out = with_count(std::move(out), "leased", "in somebody's hand");
  out = with_count(std::move(out), "retrying", "failed, due later");
  out = with_count(std::move(out), "waiting", "behind another event of their key");
  out = with_count(std::move(out), "dead", "dead letters");
  return extended(std::move(out), {{"oldest_due_age_seconds", or_null(number())},
                                   {"backfill", integer("offsets of the past that it is still to be given")}});
}

Document instance() {
  return object({{"instance_id", uuid()},
                 {"host", text()},
                 {"process_id", integer()},
                 {"version", text()},
                 {"started_at", time()},
                 {"last_seen_at", time()},
                 {"unseen_seconds", number("by the database's clock")},
                 {"is_gone", flag("unseen for so long that it is taken for gone")},
                 {"trouble", or_null(text("what it could not do when it was last seen"))}});
}

Field dry_run() { return {"dry_run", flag("nothing was done")}; }

Field refused_shards() { return {"shards", list(reference("Shard")), false}; }

Document dead_task(const std::string& past) {
  return object({dry_run(),
                 {"matched", integer()},
                 {"more", flag("more match than one command takes on")},
                 {"handlers", map(integer("dead letters that match"))},
                 {"of_retired_handlers", integer("that match and are left alone"), false},
                 {"awaited_by_backfill", integer("that match and are left alone"), false},
                 {past, integer("dead letters"), false},
                 {"interrupted", flag("with 503: the same command goes on with the rest"), false}});
}

Document partition_here() {
  return object({{"topic", text()},
                 {"partition", integer()},
                 {"state", text()},
                 {"position", or_null(integer())},
                 {"high_watermark", or_null(integer())},
                 {"lag", or_null(integer())},
                 {"received", integer("records since the start")}});
}

Document handler_here() {
  return object({{"handler", text()},
                 {"in_hand", integer("events")},
                 {"in_hand_bytes", integer()},
                 {"queued", integer("of them not yet with a worker")},
                 {"per_second", number("events it does, lately")},
                 {"has_backlog", flag("the database has more that is due")},
                 {"paused", flag()},
                 {"stopped", flag("it said that it cannot go on")},
                 {"abandoned_calls", integer("given up and not yet returned")},
                 {"deadlines_passed", integer()},
                 {"repeated_transactions", integer()},
                 {"given_back", integer()}});
}

Document since_start() {
  return object({{"stored", integer()},
                 {"duplicates", integer()},
                 {"quarantined", integer()},
                 {"conflicts", integer()},
                 {"done", integer()},
                 {"retried", integer()},
                 {"dead", integer()},
                 {"leases_lost", integer()}});
}

}  // namespace

Document components() {
  return {{"Bytes", bytes_component()},
          {"EventSummary", event_summary()},
          {"Event", whole_event()},
          {"EventOnRecord", event_on_record()},
          {"Worker", worker()},
          {"HandlerResult", handler_result()},
          {"Failure", failure()},
          {"Moment", moment()},
          {"DeadLetterSummary", dead_letter("EventSummary")},
          {"DeadLetter", extended(dead_letter("Event"), {{"reasons", list(reason())}})},
          {"QuarantinedRecord", quarantined_record()},
          {"WholeQuarantinedRecord",
           extended(quarantined_record(), {{"headers", headers()}, {"payload", or_null(bytes())}})},
          {"OffsetRange", range()},
          {"Shard", shard()},
          {"Handler", handler()},
          {"Instance", instance()}};
}

Document status() {
  return with_count(object({{"is_well", flag()},
                            {"verdict", text("a sentence")},
                            {"problems", list(text())},
                            {"remarks", list(text())},
                            {"topics", list(reference("Shard"))},
                            {"handlers", list(reference("Handler"))},
                            {"instances", list(reference("Instance"))}}),
                    "quarantined", "records of all topics");
}

Document events_list() {
  return object({{"events", list(reference("EventSummary"))},
                 {"looked_at", integer("events"), false},
                 {"back_to", or_null(time("of the oldest that was looked at")), false},
                 {"complete", flag("false: the search ended it, there may be more"), false}});
}

Document events_show() {
  return object({{"event", reference("EventOnRecord")},
                 {"handlers", list(reference("HandlerResult"))},
                 {"failures", list(reference("Failure"))}});
}

Document events_trace() {
  return object({{"event", reference("EventOnRecord")},
                 {"timeline", list(reference("Moment"))},
                 {"handlers", list(reference("HandlerResult"))}});
}

Document events_not_one() {
  const Document event = any_of({reference("EventSummary"), object({{"event_id", uuid()}})});
  return object({{"events", list(event)}});
}

Document dead_list() {
  return object({{"total", integer()},
                 {"groups", list(object({{"handler", text()},
                                         {"error_class", text()},
                                         {"dead", integer()},
                                         {"first_died_at", time()},
                                         {"last_died_at", time()}}))},
                 {"dead_letters", list(reference("DeadLetterSummary"))}});
}

Document dead_show() { return object({{"dead_letters", list(reference("DeadLetter"))}}); }

Document dead_replay() {
  return extended(dead_task("replayed"), {{"restored", integer("events that the inbox had purged"), false}});
}

Document dead_discard() { return dead_task("discarded"); }

Document quarantine_list() { return object({{"records", list(reference("QuarantinedRecord"))}}); }

Document quarantine_show() { return object({{"records", list(reference("WholeQuarantinedRecord"))}}); }

Document handlers_list() { return object({{"handlers", list(reference("Handler"))}}); }

Document handlers_retire() {
  return object({dry_run(),
                 {"refused", flag("with 409: it is run, or was added again meanwhile")},
                 {"handler", text()},
                 {"was_retired", flag()},
                 {"run_by", list(text("a daemon: `host (process 42)`"))},
                 {"events", integer("that it was owed")},
                 {"backfill", integer("offsets of the past that it was to be given")},
                 {"dropped", integer("events"), false},
                 {"interrupted", flag("with 503: the same command goes on with the rest"), false}});
}

Document shards_list() { return object({{"shards", list(reference("Shard"))}}); }

Document shards_accept_gap() {
  return object({dry_run(),
                 {"accepted", list(object({{"topic", text()},
                                           {"partition", integer()},
                                           {"from", integer()},
                                           {"to", integer("the first that is not lost")},
                                           {"lost", integer("offsets")},
                                           {"position", integer("where it is read on")}}))},
                 refused_shards()});
}

Document shards_accept_incarnation() {
  return object({dry_run(),
                 {"accepted", list(object({{"topic", text()},
                                           {"partition", integer()},
                                           {"old_incarnation", text()},
                                           {"new_incarnation", text()},
                                           {"position", integer()}}))},
                 refused_shards()});
}

Document instance_show() {
  return object({{"instance_id", uuid()},
                 {"version", text()},
                 {"started_at", time()},
                 {"group", text()},
                 {"state", word({"starting", "running", "stopping"})},
                 {"paused", flag(), false},
                 {"partitions", list(partition_here()), false},
                 {"handlers", list(handler_here()), false},
                 {"since_start", since_start(), false}});
}

Document instance_paused() { return object({dry_run(), {"paused", flag()}}); }

Document check() {
  return object({{"ok", flag("nothing stands in the way")},
                 {"findings", list(object({{"result", word({"ok", "warning", "problem", "unreachable"})},
                                           {"subject", text("`database`, `topic orders`")},
                                           {"message", text("what is so, and what would be right")}}))}});
}

Document config_show() {
  return object({{"file", text()},
                 {"settings", list(object({{"key", text("`handlers[0].retry.base`")},
                                           {"value", anything("secrets are ********")},
                                           {"text", text("the value as YAML")},
                                           {"origin", word({"default", "file", "handler_defaults"})},
                                           {"line", integer("in the file as it was read; none of a default"), false},
                                           {"column", integer(), false}}))}});
}

Document config_reference() { return object({{"reference", text("Markdown, or YAML")}}); }

Document config_schema() { return map(anything("of JSON Schema")); }

Document migrate() {
  return object({{"applied", integer("the last migration that the database has")},
                 {"known", integer("the last that this program knows")},
                 {"due", list(text("a migration's name"))},
                 {"changed", list(text("one that was applied with another text than this program's"))},
                 {"sql", list(text("of each that is due, where `plan` asks for it")), false}});
}

Document version() { return object({{"inboxd", text()}, {"libraries", map(text("its version"))}}); }

}  // namespace inboxd::admin::answers
