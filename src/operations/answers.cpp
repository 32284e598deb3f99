#include "operations/answers.hpp"

#include "operations/documents.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::operations::answers {
namespace {

using namespace schema;

Field did_you_mean() { return {"did_you_mean", text("the nearest known name"), false}; }

Document next() { return or_null(text("for `before` of the next page; null: the list has ended")); }

Field dry_run() { return {"dry_run", flag("nothing was changed")}; }

Field refused_partitions() { return {"partitions", list(reference("Partition")), false}; }

Document dead_task(const std::string& past) {
  return object({dry_run(),
                 {"matched", integer()},
                 {"more", flag("more match than one command changes")},
                 {"handlers", map(integer("dead letters that match"))},
                 {"of_retired_handlers", integer("matches that are left alone"), false},
                 {"awaited_by_backfill", integer("matches that are left alone"), false},
                 {"changed_meanwhile", integer("matches that another command changed first"), false},
                 {"parked", integer("events that they parked: replayed with them, or released by a discard"), false},
                 {"dead_letters", list(reference("DeadLetter")), false},
                 {"events", list(reference("EventSummary")), false},
                 did_you_mean(),
                 {past, integer("dead letters"), false},
                 {"interrupted", flag("with 503: repeat the request for the rest"), false}});
}

Document quarantine_task() {
  return object({dry_run(),
                 {"matched", integer()},
                 {"more", flag("more match than one command changes")},
                 {"topics", map(integer("records that match"))},
                 {"interrupted", flag("with 503: repeat the request for the rest"), false}});
}

}  // namespace

Document status() {
  const Document sizes = object({{"bytes", integer()},
                                 {"bytes_per_day", integer()},
                                 {"growth", list(schema_of(columns::table_growth))},
                                 {"ledger", object({{"generations", integer()},
                                                    {"ids", integer("about")},
                                                    {"bytes", integer()},
                                                    {"index_bytes", integer()},
                                                    {"filters", integer("stored, of frozen generations")},
                                                    {"random_share", or_null(number("0..1: ids not in the order of "
                                                                                    "time"))},
                                                    {"shared_buffers", integer("bytes")},
                                                    {"resends", integer("of the last 90 days")},
                                                    {"resend_seconds", or_null(integer("99.9 % of the resends came "
                                                                                       "within"))},
                                                    {"full_page_share", number("0..1, of the server's WAL")},
                                                    {"wal_bytes_per_second", integer("of the whole server")},
                                                    {"checkpoint_bytes", integer("WAL between two checkpoints")},
                                                    {"advice", list(text())}})},
                                 {"tables", list(schema_of(columns::table_size))}});
  const Document outbox =
      with_count(with_count(object({{"oldest_seconds", or_null(number("age of the oldest message to send"))}}),
                            "backlog", "messages to send"),
                 "waiting", "stopped messages and messages that wait for them");
  const Document unsubscribed = object({{"topic", text()}, {"event_type", text()}, {"events", integer()}});
  return with_count(object({{"is_well", flag()},
                            {"verdict", text("a sentence")},
                            {"problems", list(text())},
                            {"remarks", list(text())},
                            {"findings", list(reference("StatusFinding"))},
                            {"topics", list(reference("Partition"))},
                            {"handlers", list(reference("Handler"))},
                            {"instances", list(reference("Instance"))},
                            {"outbox", outbox},
                            {"unsubscribed", list(unsubscribed)}, {"sizes", sizes, false}}),
                    "quarantined", "records of all topics");
}

Document events_list() {
  return object({{"events", list(reference("EventSummary"))},
                 {"looked_at", integer("events"), false},
                 {"back_to", or_null(time("of the oldest event searched")), false},
                 {"complete", flag("false: the search reached its limit, there may be more"), false},
                 {"next_until", or_null(time("to search on from there; null: complete")), false},
                 {"next", next(), false},
                 did_you_mean()});
}

Document events_show() {
  return object({{"event", reference("EventOnRecord")},
                 {"handlers", list(reference("HandlerResult"))},
                 {"failures", list(reference("Failure"))},
                 {"edits", list(reference("Edit"))}});
}

Document events_trace() {
  return object({{"event", reference("EventOnRecord")},
                 {"timeline", list(reference("Moment"))},
                 {"handlers", list(reference("HandlerResult"))}});
}

Document events_change() {
  return object({dry_run(),
                 {"event_id", uuid(), false},
                 {"handler", text(), false},
                 {"state", word({"due", "leased", "retrying", "waiting"}), false},
                 {"attempts", integer(), false},
                 {"due_at", or_null(time("before the change; null: in its turn, in a sequence")), false},
                 {"last_error", or_null(text()), false},
                 {"retried", flag("it is due now"), false},
                 {"matched", integer("events that wait for a retry; without ID"), false},
                 {"skipped", flag("it is a dead letter now"), false},
                 {"events", list(reference("EventSummary")), false},
                 did_you_mean()});
}

Document events_forget() {
  return object({dry_run(),
                 {"events", integer("erased; in a dry run: to be erased")},
                 {"leased", integer("left alone: an instance has them in memory; repeat the request")},
                 {"dead_letters", integer()},
                 {"records", integer("in quarantine")},
                 {"messages", integer("not sent yet")},
                 {"skipped", integer("deliveries that were pending"), false},
                 {"interrupted", flag("with 503: repeat the request for the rest"), false}});
}

Document events_not_one() {
  const Document event = any_of({reference("EventSummary"), object({{"event_id", uuid()}})});
  return object({{"events", list(event)}});
}

Document dead_list() {
  return object({{"total", integer()},
                 {"groups", list(schema_of(columns::dead_group))},
                 {"dead_letters", list(reference("DeadLetterSummary"))},
                 {"next", next(), false},
                 did_you_mean()});
}

Document dead_show() { return object({{"dead_letters", list(reference("DeadLetter"))}}); }

Document dead_not_one() {
  return object(
      {{"dead_letters", list(reference("DeadLetter")), false}, {"events", list(reference("EventSummary")), false}});
}

Document dead_replay() {
  return extended(dead_task("replayed"), {{"restored", integer("events that had been purged"), false}});
}

Document dead_edit() {
  const Document refusal = object({{"dead_letters", list(reference("DeadLetterSummary")), false},
                                   {"events", list(reference("EventSummary")), false}});
  return extended(refusal, {dry_run(),
                            {"dead_letter_id", integer(), false},
                            {"event_id", uuid(), false},
                            {"handler", text(), false},
                            {"payload_size_before", or_null(integer("bytes")), false},
                            {"payload_size", or_null(integer("bytes")), false},
                            {"headers", reference("Headers"), false},
                            {"parked", integer("events that it has parked: replayed with it"), false},
                            {"replayed", integer("events, with the events that it had parked"), false},
                            {"interrupted", flag("with 503: `lanes release` brings back the rest"), false}});
}

Document dead_discard() {
  return extended(dead_task("discarded"), {{"released", integer("events that they had parked"), false}});
}

Document dead_note() {
  return object({dry_run(),
                 {"matched", integer("dead letters of the group")},
                 {"handler", text()},
                 {"error_class", text()},
                 {"note", text("empty: there is none any more")},
                 did_you_mean()});
}

Document lanes_list() { return object({{"lanes", list(reference("Lane"))}, did_you_mean()}); }

Document lanes_release() {
  return object({dry_run(),
                 {"matched", integer("parked keys")},
                 {"more", flag("more match than one command changes")},
                 {"handlers", map(integer("parked keys"))},
                 {"waiting", integer("events that they have parked")},
                 {"released", integer("events"), false},
                 {"interrupted", flag("with 503: repeat the request for the rest"), false},
                 did_you_mean()});
}

Document outbox_list() {
  return with_count(with_count(object({{"oldest_seconds", or_null(number("age of the oldest message to send"))},
                                       {"stopped", list(schema_of(columns::stopped_message))}}),
                               "backlog", "messages to send"),
                    "waiting", "stopped messages and messages that wait for them");
}

Document outbox_change() {
  return object({dry_run(),
                 {"matched", integer("stopped messages")},
                 {"topics", map(integer("stopped messages"))},
                 {"changed", integer("messages that are tried again, or skipped"), false},
                 {"interrupted", flag("with 503: repeat the request for the rest"), false},
                 did_you_mean()});
}

Document quarantine_list() {
  return object({{"records", list(reference("QuarantinedRecord"))},
                 {"groups", list(schema_of(columns::quarantine_group)), false},
                 {"next", next(), false},
                 did_you_mean()});
}

Document quarantine_show() { return object({{"records", list(reference("WholeQuarantinedRecord"))}}); }

Document quarantine_retry() {
  return extended(quarantine_task(),
                  {{"not_kept", integer("matches that were too large to keep; left alone"), false},
                   {"events", integer("stored; in a dry run: to be stored"), false},
                   {"duplicates", integer("of stored events; dropped"), false},
                   {"skipped", integer("tombstones of a topic that skips them; dropped"), false},
                   {"unsubscribed", integer("events that no handler subscribes to"), false},
                   {"still", map(integer("records that stay, by reason; `not_configured`: their topic")), false}});
}

Document quarantine_discard() { return extended(quarantine_task(), {{"discarded", integer("records"), false}}); }

Document handlers_list() { return object({{"handlers", list(reference("Handler"))}}); }

Document handlers_retire() {
  return object({dry_run(),
                 {"handler", text()},
                 {"was_retired", flag()},
                 {"configured_by", list(text("a daemon: `host (process 42)`"))},
                 {"events", integer("pending")},
                 {"backfill", integer("offsets that its back-fill had yet to pass")},
                 {"dropped", integer("events"), false},
                 {"interrupted", flag("with 503: repeat the request for the rest"), false}});
}

Document handlers_pause() {
  return object({dry_run(),
                 {"handler", text()},
                 {"was_paused", flag("true: nothing to do")},
                 {"paused_reason", text("now, or as it would be")}});
}

Document handlers_resume() {
  return object({dry_run(),
                 {"handler", text()},
                 {"paused_reason", or_null(text("until now; null: nothing to do"))},
                 {"is_trying", flag("a fuse had paused it: it tries a single event first"), false}});
}

Document handlers_run() {
  return object({dry_run(),
                 {"handler", text()},
                 {"events", integer("that wait for the close")},
                 {"is_running", flag("the last window comes to its end first")},
                 {"configured_by", list(text("a daemon: `host (process 42)`"))}});
}

Document handlers_restore() {
  return object({dry_run(),
                 {"handler", text()},
                 {"was_retired", flag("false: nothing to do")},
                 {"configured_by", list(text("a daemon: `host (process 42)`"))}});
}

Document handlers_backfill() {
  return object({dry_run(),
                 {"cancels", flag("with `cancel`")},
                 {"handler", text()},
                 {"configured_by", list(text("a daemon: `host (process 42)`"))},
                 {"state", schema::word({"running", "done", "cancelled"})},
                 {"offsets", integer("that it passes in all: its events, or more")},
                 {"left", integer("offsets to go")},
                 {"events", integer("made pending so far")},
                 {"dead_letters", integer("of these events; deleted")}});
}

Document partitions_list() { return object({{"partitions", list(reference("Partition"))}, did_you_mean()}); }

Document partitions_accept_gap() {
  return object({dry_run(),
                 {"accepted", list(object({{"topic", text()},
                                           {"partition", integer()},
                                           {"from", integer()},
                                           {"to", integer("exclusive")},
                                           {"lost", integer("offsets")},
                                           {"position", integer("the next offset to read")}}))},
                 refused_partitions()});
}

Document partitions_accept_recreated() {
  return object({dry_run(),
                 {"accepted", list(object({{"topic", text()},
                                           {"partition", integer()},
                                           {"old_incarnation", text()},
                                           {"new_incarnation", text()},
                                           {"position", integer()}}))},
                 refused_partitions()});
}

Document partitions_seek() {
  return object({dry_run(),
                 {"topic", text(), false},
                 {"partition", integer(), false},
                 {"position", integer("before"), false},
                 {"to", integer("the offset from which it is read"), false},
                 {"read_again", integer("offsets"), false},
                 {"known", integer("of them events that the ledger absorbs"), false},
                 {"new_at_most", integer("of them not in the ledger: stored and delivered as new, if events"), false},
                 {"passed_over", integer("offsets that are never read"), false},
                 {"moved", flag("a daemon reads there within 15 s"), false}});
}

Document events_failures() {
  return object({{"failures", list(schema_of(columns::failed_attempt))}});
}

Document audit_list() {
  return object({{"changes", list(schema_of(columns::change))}});
}

}  // namespace inboxd::operations::answers
