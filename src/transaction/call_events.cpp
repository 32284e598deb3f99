#include "transaction/call_events.hpp"

#include <algorithm>

#include "inbox/event_columns.hpp"

namespace inboxd::transaction {
namespace {

using Type = inbox::ArrayParameter::Type;

/// The numbers of parameters of tx_events_trusting, tx_events and tx_events_sent.
constexpr std::size_t trusting_parameters = 11;
constexpr std::size_t place_parameters = 12;
constexpr std::size_t sent_parameters = 18;

/// Adds the places of events, as ranges of consecutive offsets of a lease; an edited event is a range of its own.
void add_places(SqlParameters& to, std::span<const CallEvent> events) {
  inbox::ArrayParameter shard{Type::int4}, first{Type::int8}, end{Type::int8}, edit{Type::int8};
  inbox::ArrayParameter delivery{Type::int8}, fence{Type::int8};
  inbox::ArrayParameter attempt{Type::int4};
  event::Microseconds from = events.empty() ? 0 : events.front().event->received_at, until = from;
  for (std::size_t i = 0; i < events.size();) {
    const CallEvent& begin = events[i];
    std::int64_t next = begin.event->offset;
    for (; i < events.size() && events[i].event->shard_id == begin.event->shard_id &&
           events[i].attempt == begin.attempt && events[i].lease == begin.lease && events[i].event->offset == next &&
           (&events[i] == &begin || (events[i].event->edit_id == 0 && begin.event->edit_id == 0));
         ++i, ++next) {
      from = std::min(from, events[i].event->received_at);
      until = std::max(until, events[i].event->received_at);
    }
    shard.add(begin.event->shard_id);
    first.add(begin.event->offset);
    end.add(next);
    attempt.add(begin.attempt);
    edit.add(begin.event->edit_id);
    delivery.add(begin.lease.delivery_id);
    fence.add(begin.lease.fence);
  }
  for (inbox::ArrayParameter* array : {&shard, &first, &end}) to.add(*array);
  to.add_time(from);
  to.add_time(until);
  for (inbox::ArrayParameter* array : {&attempt, &edit, &delivery, &fence}) to.add(*array);
}

/// Adds the columns of events, in the order of tx_events_sent.
void add_columns(SqlParameters& to, std::span<const CallEvent> events) {
  inbox::EventColumns columns;
  inbox::ArrayParameter topic{Type::text}, partition{Type::int4}, received{Type::timestamptz}, attempt{Type::int4};
  for (const CallEvent& each : events) {
    columns.add(*each.event);
    topic.add(each.topic);
    partition.add(each.partition);
    received.add_time(each.event->received_at);
    attempt.add(each.attempt);
  }
  for (inbox::ArrayParameter* array : columns.in_order()) to.add(*array);
  for (inbox::ArrayParameter* array : {&topic, &partition, &received, &attempt}) to.add(*array);
}

std::string_view name_of(config::Unwrap unwrap) {
  switch (unwrap) {
    case config::Unwrap::none: return "none";
    case config::Unwrap::json_string: return "json-string";
    case config::Unwrap::schema_payload: return "schema-payload";
    default: return "auto";
  }
}

/// Adds the topics that are not unwrapped automatically, and how they are.
void add_unwraps(SqlParameters& to, std::span<const CallEvent> events) {
  inbox::ArrayParameter topics{Type::text}, unwraps{Type::text};
  std::string_view last;
  for (const CallEvent& each : events) {
    if (each.unwrap == config::Unwrap::automatic || each.topic == last) continue;
    last = each.topic;
    topics.add(each.topic);
    unwraps.add(name_of(each.unwrap));
  }
  to.add(topics);
  to.add(unwraps);
}

}  // namespace

std::span<const CallEvent> part_of(const std::vector<CallEvent>& events, std::size_t first, std::size_t count) {
  first = std::min(first, events.size());
  return std::span{events}.subspan(first, std::min(count, events.size() - first));
}

EventSource source_for(const SqlStatement& statement, std::span<const CallEvent> events) {
  if (!statement.with_events) return EventSource::none;
  if (events.empty() || static_cast<std::int64_t>(events.size()) > max_events_sent) return EventSource::in_place;
  std::size_t bytes = 0;
  for (const CallEvent& each : events) {
    if (!each.has_content) return EventSource::in_place;
    bytes += event::size_of(*each.event);
  }
  return bytes <= max_bytes_sent ? EventSource::sent : EventSource::in_place;
}

std::size_t event_parameters(EventSource source) {
  if (source == EventSource::none) return 0;
  if (source == EventSource::trusting) return trusting_parameters;
  return source == EventSource::sent ? sent_parameters : place_parameters;
}

std::string events_expression(const std::string& text, std::size_t before) {
  std::string out;
  // At the beginning of a line: comments above contain the same words.
  for (std::size_t at = text.find("\nevents as") + 1; at < text.size(); ++at) {
    if (text[at] != '$') {
      out += text[at];
      continue;
    }
    std::size_t number = 0;
    while (at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9') {
      number = number * 10 + static_cast<std::size_t>(text[++at] - '0');
    }
    out += "$" + std::to_string(number + before);
  }
  return out;
}

void add_events(SqlParameters& to, EventSource source, std::span<const CallEvent> events, bool requires_json) {
  if (source == EventSource::in_place || source == EventSource::trusting) add_places(to, events);
  if (source == EventSource::sent) add_columns(to, events);
  if (source == EventSource::in_place || source == EventSource::sent) to.add_flag(requires_json);
  if (source != EventSource::none) add_unwraps(to, events);
}

}  // namespace inboxd::transaction
