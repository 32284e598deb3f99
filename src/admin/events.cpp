#include <algorithm>

#include "admin/answers.hpp"
#include "admin/documents.hpp"
#include "admin/find_event.hpp"
#include "admin/history.hpp"
#include "admin/operations.hpp"
#include "inbox/operations_shards.hpp"

namespace inboxd::admin {
namespace {

constexpr event::Microseconds day_us = 86'400'000'000;

Answer list(Context& context, const Arguments& arguments) {
  auto& connection = *context.connection;
  inbox::EventsFilter filter;
  for (const auto& shard : inbox::read_shards(connection, {arguments.texts("topic"), false, false})) {
    filter.shards.push_back(shard.shard_id);
  }
  if (filter.shards.empty()) {
    return {base::ExitCode::no,
            {{"events", Document::array()}},
            arguments.texts("topic").empty() ? "no topic is ingested yet" : "the inbox knows no such topic"};
  }
  filter.types = arguments.texts("type");
  filter.received = {arguments.time("since"), arguments.time("until")};
  const auto found =
      inbox::newest_events(connection, filter, *arguments.number("limit"), *arguments.number("search"));
  Document events = Document::array();
  for (const auto& event : found.events) events.push_back(summary_of(event));
  Answer out;
  if (events.empty()) out = {base::ExitCode::no, nullptr, "no event matches"};
  if (!found.complete) {
    out.message += (out.message.empty() ? "" : "; ");
    out.message += "looked through the newest " + std::to_string(found.looked_at) +
                   " events only; --search or --topic " + "looks further";
  }
  out.document = {{"events", std::move(events)},
                  {"looked_at", found.looked_at},
                  {"back_to", time_of(found.back_to)},
                  {"complete", found.complete}};
  return out;
}

EventFile open_file(Context& context, const inbox::EventPlace& place) {
  auto& connection = *context.connection;
  EventFile out;
  out.place = place;
  out.event = inbox::read_event(connection, place);
  // Two records can claim one place after a restore of the database: the id decides.
  if (out.event && out.event->event_id != place.event_id) out.event.reset();
  out.dead = inbox::find_dead(connection, {}, {place.event_id});
  if (!out.event) {
    out.is_purged = true;
    if (!out.dead.empty()) out.event = out.dead.front().event;
  }
  inbox::HistoryRequest request{place.event_id, place.shard_id, place.offset, std::nullopt, std::nullopt};
  if (out.event) request.received_at = request.since = out.event->received_at;
  // A restored event is younger than what happened to it before: the ledger decides. A day for clocks that differ.
  if (request.since && place.received_from) request.since = std::min(*request.since, *place.received_from - day_us);
  out.history = inbox::read_history(connection, request);
  return out;
}

Document event_document(const EventFile& file) {
  Document out = file.event ? whole_of(*file.event)
                            : Document{{"event_id", file.place.event_id.text()},
                                       {"shard_id", file.place.shard_id},
                                       {"offset", file.place.offset}};
  out["is_purged"] = file.is_purged;
  return out;
}

/// Finds the one event that an ID means and makes a document of what is known of it.
template <class Describe>
Answer tell(Context& context, const Arguments& arguments, Describe describe) {
  const std::string id = *arguments.text("id");
  const auto found = find_events(context, id);
  if (found.places.empty()) {
    return {base::ExitCode::no, {{"events", Document::array()}},
            "no event with the id \"" + id + "\"" + (found.hint.empty() ? "" : ": " + found.hint)};
  }
  if (found.places.size() == 1) return {base::ExitCode::done, describe(open_file(context, found.places.front())), ""};
  Document events = Document::array();
  for (const auto& place : found.places) {
    const auto event = inbox::read_event(*context.connection, place);
    events.push_back(event ? summary_of(*event) : Document{{"event_id", place.event_id.text()}});
  }
  return {base::ExitCode::no, {{"events", std::move(events)}},
          std::to_string(found.places.size()) + " events have the id \"" + id + "\"; ask for one by its event_id"};
}

Answer show(Context& context, const Arguments& arguments) {
  return tell(context, arguments, [](const EventFile& file) {
    return Document{
        {"event", event_document(file)}, {"handlers", handler_states(file)}, {"failures", failures_of(file)}};
  });
}

Answer trace(Context& context, const Arguments& arguments) {
  return tell(context, arguments, [](const EventFile& file) {
    Document event = event_document(file);
    event.erase("payload");
    event.erase("headers");
    return Document{{"event", std::move(event)}, {"timeline", timeline_of(file)}, {"handlers", handler_states(file)}};
  });
}

std::vector<Parameter> list_parameters() {
  using Kind = Parameter::Kind;
  Parameter search{"search", Kind::number, "where types are asked for: how many of the newest events to look through",
                   "N"};
  search.default_number = 20'000;
  search.least = 1;
  search.most = 1'000'000'000;
  return {{"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
          {"type", Kind::texts, "of this type; NAME* for a prefix", "TYPE"},
          since_parameter("received"),
          until_parameter("received"),
          limit_parameter(20),
          search};
}

Parameter id_word() {
  return {"id", Parameter::Kind::text, "event_id, the producer's id, or TOPIC/PARTITION/OFFSET", "ID",
          Parameter::Place::word};
}

}  // namespace

std::vector<Operation> event_operations() {
  return {
      {"events list",
       "What is stored, newest first.",
       {{"events list", "the newest of all topics"},
        {"events list --topic orders --since 30m", "of a topic, of the last half hour"},
        {"events list --type \"order.*\" --limit 100 --json", "by type, for a program"}},
       Permission::read,
       Needs::database,
       list_parameters(),
       list,
       answers::events_list},
      {"events show",
       "One event: what it is, and what each handler made of it.",
       {{"events show 0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f", "by event_id"},
        {"events show ORDER-4711", "by the id that the producer gave it"},
        {"events show orders/3/81723", "by topic, partition and offset"}},
       Permission::read,
       Needs::database,
       {id_word()},
       show,
       answers::events_show,
       answers::events_not_one},
      {"events trace",
       "What happened to one event, in the order of time.",
       {{"events trace orders/3/81723", "from Kafka to its handlers' last word"}},
       Permission::read,
       Needs::database,
       {id_word()},
       trace,
       answers::events_trace,
       answers::events_not_one},
  };
}

}  // namespace inboxd::admin
