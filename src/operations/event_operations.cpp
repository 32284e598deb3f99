#include "operations/event_operations.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "config/units.hpp"
#include "operations/documents.hpp"
#include "operations/find_dead.hpp"
#include "operations/find_event.hpp"
#include "operations/handler_agreement.hpp"
#include "operations/key_argument.hpp"
#include "operations/operation_table.hpp"
#include "operations/page_mark.hpp"
#include "operations/partition_queries.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

const std::vector<std::string> states{"due",  "leased", "retrying", "waiting", "parked",
                                      "done", "dead",   "expired",  "skipped", "discarded"};

EventFile open_file(Context& context, const EventPlace& place) {
  auto& connection = *context.connection;
  EventFile out;
  out.place = place;
  out.event = read_event(connection, place);
  // After a restore of the database two records can claim a place: the id decides.
  if (out.event && out.event->event_id != place.event_id) out.event.reset();
  // First: a state that is recorded meanwhile is found below.
  if (out.event) out.expected = read_expected(connection, *out.event, context.retention.dead_letters);
  out.dead = find_dead(connection, {}, {place.event_id});
  out.edits = read_edits(connection, place.shard_id, place.offset, place.event_id);
  if (!out.event) {
    out.is_purged = true;
    if (!out.dead.empty()) out.event = out.dead.front().event;
  }
  HistoryRequest request{place.event_id, place.shard_id, place.offset, std::nullopt, std::nullopt};
  if (out.event) request.received_at = request.since = out.event->received_at;
  // A replay restores a purged event with a later received_at: the ledger has the first. A day for differing clocks.
  if (request.since && place.received_from) request.since = std::min(*request.since, *place.received_from - day_us);
  out.history = read_history(connection, request);
  return out;
}

Document event_document(const EventFile& file) {
  Document out = file.event ? file.event->document
                            : Document{{"event_id", file.place.event_id.text()},
                                       {"partition_id", file.place.shard_id},
                                       {"offset", file.place.offset}};
  out["is_purged"] = file.is_purged;
  return out;
}

template <class Describe>
Answer tell(Context& context, const Arguments& arguments, Describe describe) {
  const std::string id = *arguments.text("id");
  const auto found = find_events(context, id);
  if (found.places.empty()) {
    return {base::ExitCode::no,
            {{"events", Document::array()}},
            "no event with the id \"" + id + "\"" + (found.hint.empty() ? "" : ": " + found.hint)};
  }
  if (found.places.size() == 1) return {base::ExitCode::done, describe(open_file(context, found.places.front())), ""};
  Document events = Document::array();
  for (const auto& place : found.places) {
    const auto event = read_event(*context.connection, place);
    events.push_back(event ? summary_of(*event) : Document{{"event_id", place.event_id.text()}});
  }
  return {base::ExitCode::no,
          {{"events", std::move(events)}},
          std::to_string(found.places.size()) + " events have the id \"" + id + "\"; pass an event_id"};
}

Document state_of(const OpenDelivery& delivery) {
  return {{"handler", delivery.handler},
          {"state", state_text(delivery)},
          {"waits_for", text_of(delivery.waits_for)},
          {"attempts", delivery.attempts},
          {"due_at", time_of(delivery.due_at)},
          {"finished_at", nullptr},
          {"last_error", text_of(delivery.last_error)},
          {"worker", delivery.is_leased ? worker_of(delivery.owner) : Document(nullptr)},
          {"paused_reason", text_of(delivery.paused_reason)}};
}

Document state_of(const DeadLetter& letter) {
  return {{"handler", letter.handler},
          {"state", letter.state},
          {"attempts", letter.document.at("attempts")},
          {"due_at", nullptr},
          {"finished_at", time_of(letter.died_at)},
          {"last_error", letter.document.at("last_error")},
          {"worker", nullptr},
          {"dead_letter_id", letter.dead_letter_id}};
}

Document state_of(const RecordedOutcome& outcome) {
  return {{"handler", outcome.handler},
          {"state", outcome.outcome},
          {"attempts", outcome.attempts},
          {"due_at", nullptr},
          {"finished_at", time_of(outcome.finished_at)},
          {"last_error", nullptr},
          {"worker", worker_of(outcome.owner)}};
}

Document state_of(const ExpectedHandler& handler) {
  return {{"handler", handler.handler},
          {"state", handler.awaits_backfill ? "backfill" : "missing"},
          {"attempts", 0},
          {"due_at", nullptr},
          {"finished_at", nullptr},
          {"last_error", nullptr},
          {"worker", nullptr}};
}

struct Moment {
  event::Microseconds at = 0;
  std::string what;
  std::string handler;
  std::string detail;
};

std::string by(const std::optional<Worker>& worker) {
  return worker ? " by " + name_of(*worker) : "";
}

void add_beginning(const EventFile& file, std::vector<Moment>& out) {
  if (!file.event) return;
  const auto& event = *file.event;
  if (event.occurred_at) out.push_back({*event.occurred_at, "occurred", "", "by the producer's clock"});
  if (event.kafka_timestamp) {
    out.push_back({*event.kafka_timestamp, "written to Kafka", "",
                   event.document.at("topic").get<std::string>() + "/" + event.document.at("partition").dump() + "/" +
                       std::to_string(event.offset)});
  }
  out.push_back({event.received_at, "received", "", "stored in the inbox"});
}

void add_attempts(const EventFile& file, std::vector<Moment>& out) {
  for (const auto& failure : file.history.failures) {
    const auto begun = failure.occurred_at - failure.duration.count();
    const std::string error =
        failure.error_class.empty() ? failure.message : failure.error_class + ": " + failure.message;
    out.push_back({begun, "attempt " + std::to_string(failure.attempt), failure.handler, "begins"});
    out.push_back(
        {failure.occurred_at, "attempt " + std::to_string(failure.attempt) + " failed", failure.handler, error});
  }
}

void add_endings(const EventFile& file, std::vector<Moment>& out) {
  for (const auto& outcome : file.history.outcomes) {
    out.push_back({outcome.finished_at, outcome.outcome, outcome.handler,
                   "after " + std::to_string(outcome.attempts) + (outcome.attempts == 1 ? " attempt" : " attempts") +
                       by(outcome.owner)});
  }
  for (const auto& letter : file.dead) {
    // An outcome may be purged before its dead letter.
    const auto tells_it = [&](const auto& o) {
      return (o.outcome == "dead" || o.outcome == "expired") && o.handler == letter.handler;
    };
    const bool is_told = std::any_of(file.history.outcomes.begin(), file.history.outcomes.end(), tells_it);
    if (!is_told) out.push_back({letter.died_at, letter.state, letter.handler, letter.document.at("last_error")});
  }
  for (const auto& note : file.history.notes) out.push_back({note.at, note.what, "", note.who});
  for (const auto& delivery : file.history.deliveries) {
    const bool fails = !delivery.is_leased && (delivery.attempts > 0 || !delivery.is_due);
    if (!delivery.due_at) continue;  // its turn comes with its sequence
    out.push_back({*delivery.due_at,
                   delivery.is_leased ? "lease ends"
                   : fails            ? "attempt " + std::to_string(delivery.attempts + 1) + " due"
                                      : "due",
                   delivery.handler,
                   delivery.is_leased                    ? "leased" + by(delivery.owner)
                   : delivery.waits_for == "deliver_at" ? "its deliver_at"
                                                         : ""});
  }
}

void add_messages(const EventFile& file, std::vector<Moment>& out) {
  for (const auto& message : file.messages) {
    std::string detail = message.message_id.text();
    if (message.offset) {
      detail += " is " + message.topic + "/" + std::to_string(message.partition.value_or(0)) + "/" +
                std::to_string(*message.offset);
    } else {
      detail += " to " + message.topic + ", " + message.state;
    }
    if (message.error) detail += ": " + *message.error;
    out.push_back({message.at, message.offset ? "message in Kafka" : "message published", "", detail});
  }
}

std::vector<std::string> handlers_of(const EventFile& file) {
  std::set<std::string> out;
  for (const auto& outcome : file.history.outcomes) out.insert(outcome.handler);
  for (const auto& delivery : file.history.deliveries) out.insert(delivery.handler);
  for (const auto& letter : file.dead) out.insert(letter.handler);
  return {out.begin(), out.end()};
}

/// How to search on, after a search that reached its limit.
std::string about_rest(const EventsFilter& filter, const NewestEvents& found) {
  const std::string out = "only the newest " + std::to_string(found.looked_at) + " events were searched; ";
  // Many events may have the same time. Then a search until then would end there again.
  if (found.next_until == filter.received.until) return out + "raise --search";
  return out + "search on with --until " + config::time_text(*found.next_until) + ", or raise --search";
}

void continue_after(EventsFilter& filter, const PageMark& mark) {
  filter.after = EventRank{mark[0], static_cast<std::int32_t>(mark[1]), mark[2]};
  filter.received.until = std::min(filter.received.until.value_or(mark[0] + 1), mark[0] + 1);
}

Document mark_of(const StoredEvent& event) {
  return text_of_mark({event.received_at, event.shard_id, event.offset});
}

}  // namespace

Answer functions::events_list(Context& context, const Arguments& arguments) {
  auto& connection = *context.connection;
  EventsFilter filter;
  auto key = read_key("events list", arguments);
  if (key.refusal) return std::move(*key.refusal);
  filter.key = std::move(key.key);
  for (const std::string& state : arguments.texts("state")) {
    if (std::ranges::find(states, state) != states.end()) continue;
    return {base::ExitCode::usage, nullptr, "events list: --state takes " + base::joined(states)};
  }
  for (const auto& partition : read_partitions(connection, {arguments.texts("topic"), false, false})) {
    filter.shards.push_back(partition.shard_id);
  }
  if (filter.shards.empty()) {
    return nothing_matches(context, arguments, {{"events", Document::array()}}, "no topic is ingested yet");
  }
  filter.types = arguments.texts("type");
  filter.handler = arguments.text("handler");
  filter.states = arguments.texts("state");
  filter.received = {arguments.time("since"), arguments.time("until")};
  const auto before = read_before("events list", arguments, 3);
  if (before.refusal) return *before.refusal;
  if (before.mark) continue_after(filter, *before.mark);
  const auto limit = *arguments.number("limit");
  const auto found = newest_events(connection, filter, limit, *arguments.number("search"));
  Document events = Document::array();
  for (const auto& event : found.events) events.push_back(event.document);
  Answer out;
  if (events.empty()) {
    out = nothing_matches(context, arguments, Document::object(), "no event matches");
  }
  if (found.next_until) out.message += (out.message.empty() ? "" : "; ") + about_rest(filter, found);
  Document document = {{"events", std::move(events)},
                       {"looked_at", found.looked_at},
                       {"back_to", time_of(found.back_to)},
                       {"complete", !found.next_until},
                       {"next_until", time_of(found.next_until)},
                       {"next", std::ssize(found.events) < limit ? Document(nullptr) : mark_of(found.events.back())}};
  if (!out.document.is_null()) document.update(out.document);
  out.document = std::move(document);
  return out;
}

Answer functions::events_show(Context& context, const Arguments& arguments) {
  return tell(context, arguments, [](const EventFile& file) {
    Document edits = Document::array();
    for (const auto& edit : file.edits) edits.push_back(edit.document);
    return Document{{"event", event_document(file)},
                    {"handlers", handler_states(file)},
                    {"failures", failures_of(file)},
                    {"edits", std::move(edits)}};
  });
}

Answer functions::events_trace(Context& context, const Arguments& arguments) {
  return tell(context, arguments, [&context](EventFile file) {
    file.messages = read_messages(*context.connection, file.place.event_id, handlers_of(file));
    Document event = event_document(file);
    event.erase("payload");
    event.erase("headers");
    event.erase("decoded");
    return Document{{"event", std::move(event)}, {"timeline", timeline_of(file)}, {"handlers", handler_states(file)}};
  });
}

std::string state_text(const OpenDelivery& delivery) {
  if (delivery.is_leased) return "leased";
  if (delivery.waits_for) return "waiting";
  return delivery.is_due ? "due" : "retrying";  // after a failure, or deferred
}

Document handler_states(const EventFile& file) {
  std::map<std::string, Document> states;
  for (const auto& delivery : file.history.deliveries) states.emplace(delivery.handler, state_of(delivery));
  for (const auto& letter : file.dead) states.emplace(letter.handler, state_of(letter));
  for (auto outcome = file.history.outcomes.rbegin(); outcome != file.history.outcomes.rend(); ++outcome) {
    states.emplace(outcome->handler, state_of(*outcome));
  }
  for (const auto& handler : file.expected) states.emplace(handler.handler, state_of(handler));
  Document out = Document::array();
  for (auto& [handler, state] : states) out.push_back(std::move(state));
  return out;
}

Document failures_of(const EventFile& file) {
  Document out = Document::array();
  for (const auto& failure : file.history.failures) {
    out.push_back({{"handler", failure.handler},
                   {"attempt", failure.attempt},
                   {"occurred_at", time_of(failure.occurred_at)},
                   {"error_class", failure.error_class},
                   {"message", failure.message},
                   {"duration_seconds", seconds_of(failure.duration)}});
  }
  return out;
}

Document timeline_of(const EventFile& file) {
  std::vector<Moment> moments;
  add_beginning(file, moments);
  add_attempts(file, moments);
  add_endings(file, moments);
  add_messages(file, moments);
  std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) { return a.at < b.at; });
  Document out = Document::array();
  for (const Moment& moment : moments) {
    out.push_back({{"at", time_of(moment.at)},
                   {"what", moment.what},
                   {"handler", moment.handler.empty() ? Document(nullptr) : Document(moment.handler)},
                   {"detail", moment.detail}});
  }
  return out;
}

}  // namespace inboxd::operations
