#include "operations/answers.hpp"
#include "operations/documents.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::operations::answers {
namespace {

using namespace schema;

Document bytes_component() {
  Document out = any_of({text(), object({{"base64", text()}})});
  out["description"] = "Text if the bytes are UTF-8, else base64.";
  return out;
}

/// A producer can write any time.
Document producers_time(const std::string& whose) { return text(whose + "; RFC 3339 for years from 1 to 9999"); }

Document headers() { return list(object({{"name", bytes()}, {"value", or_null(bytes())}})); }

Document with_content(Document summary) {
  return extended(std::move(summary), {{"headers", headers()}, {"payload", or_null(bytes())}});
}

Document whole_event() {
  return extended(with_content(schema_of(columns::event_summary)),
                  {{"decoded", text("the JSON of the payload, if its topic has a format"), false}});
}

/// An event as far as it is known: place and id alone, if it is purged and not dead.
Document event_on_record() {
  Document out = whole_event();
  out["properties"]["partition_id"] = integer("of a purged event");
  out["required"] = {"event_id", "offset"};
  return extended(out, {{"is_purged", flag("no longer in the inbox; a dead letter may still have its content")}});
}

Document worker() { return object({{"host", text()}, {"process_id", integer()}}); }

Document handler_result() {
  Document state = word({"due", "leased", "retrying", "waiting", "done", "dead", "expired", "parked", "skipped",
                         "discarded", "backfill", "missing"});
  state["description"] =
      "backfill: a back-fill has yet to deliver the event; missing: the handler subscribed to the event when it was "
      "stored, and has no state for it";
  return object(
      {{"handler", text()},
       {"state", std::move(state)},
       {"waits_for", or_null(word({"deliver_at", "key", "window"})), false},
       {"attempts", integer()},
       {"due_at", or_null(time("of a leased delivery: the end of the lease; null: in its turn, in a sequence"))},
       {"finished_at", or_null(time())},
       {"last_error", or_null(text())},
       {"worker", or_null(reference("Worker"))},
       {"paused_reason", or_null(text()), false},
       {"dead_letter_id", integer(), false}});
}

Document moment() {
  return object({{"at", producers_time("by the producer's, Kafka's or the database's clock")},
                 {"what", text()},
                 {"handler", or_null(text())},
                 {"detail", text()}});
}

Document dead_letter(const std::string& event) {
  return extended(schema_of(columns::dead_letter), {{"event", reference(event)}});
}

Document range() { return object({{"from", integer()}, {"to", integer("exclusive")}}); }

Document status_finding() {
  return object({{"severity", word({"problem", "remark"})},
                 {"kind", text("stable: `partition_halted`")},
                 {"message", text("the fact")},
                 {"remedy", or_null(text("the next step"))},
                 {"since", or_null(time())}});
}

}  // namespace

Document components() {
  return {{"Bytes", bytes_component()},
          {"Headers", headers()},
          {"EventSummary", schema_of(columns::event_summary)},
          {"Event", whole_event()},
          {"EventOnRecord", event_on_record()},
          {"Worker", worker()},
          {"HandlerResult", handler_result()},
          {"Failure", schema_of(columns::failure)},
          {"Moment", moment()},
          {"DeadLetterSummary", dead_letter("EventSummary")},
          {"DeadLetter",
           extended(dead_letter("Event"),
                    {{"reasons", list(schema_of(columns::reason))}, {"edit", or_null(reference("Edit"))}})},
          {"Edit", with_content(schema_of(columns::edit))},
          {"Lane", schema_of(columns::lane)},
          {"QuarantinedRecord", schema_of(columns::quarantined_record)},
          {"WholeQuarantinedRecord", with_content(schema_of(columns::quarantined_record))},
          {"OffsetRange", range()},
          {"Partition", schema_of(columns::partition)},
          {"Handler", extended(schema_of(columns::handler), {{"window", or_null(schema_of(columns::window))}})},
          {"Instance", schema_of(columns::instance)},
          {"StatusFinding", status_finding()}};
}

}  // namespace inboxd::operations::answers
