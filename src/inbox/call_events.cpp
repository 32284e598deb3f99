// Relation `events` of a handler's statement: read where the events are, or sent with it.
#include "inbox/call_events.hpp"

#include <algorithm>

#include "inbox/event_columns.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

/// The parameters of tx_events, and of tx_events_sent.
constexpr std::size_t place_parameters = 6;
constexpr std::size_t sent_parameters = 14;

/// Which events, as neighbouring offsets.
void add_places(SqlParameters& to, std::span<const CallEvent> events) {
  ArrayParameter shard{Type::int4}, first{Type::int8}, end{Type::int8}, attempt{Type::int4};
  event::Microseconds from = events.empty() ? 0 : events.front().event->received_at, until = from;
  for (std::size_t i = 0; i < events.size();) {
    const CallEvent& begin = events[i];
    std::int64_t next = begin.event->offset;
    for (; i < events.size() && events[i].event->shard_id == begin.event->shard_id &&
           events[i].attempt == begin.attempt && events[i].event->offset == next;
         ++i, ++next) {
      from = std::min(from, events[i].event->received_at);
      until = std::max(until, events[i].event->received_at);
    }
    shard.add(begin.event->shard_id);
    first.add(begin.event->offset);
    end.add(next);
    attempt.add(begin.attempt);
  }
  for (ArrayParameter* array : {&shard, &first, &end}) to.add(*array);
  to.add_time(from);
  to.add_time(until);
  to.add(attempt);
}

/// Their columns, in the order of tx_events_sent.
void add_columns(SqlParameters& to, std::span<const CallEvent> events) {
  EventColumns columns;
  ArrayParameter topic{Type::text}, partition{Type::int4}, received{Type::timestamptz}, attempt{Type::int4};
  for (const CallEvent& each : events) {
    columns.add(*each.event);
    topic.add(each.topic);
    partition.add(each.partition);
    received.add_time(each.event->received_at);
    attempt.add(each.attempt);
  }
  for (ArrayParameter* array : columns.in_order()) to.add(*array);
  for (ArrayParameter* array : {&topic, &partition, &received, &attempt}) to.add(*array);
}

}  // namespace

std::span<const CallEvent> part_of(const std::vector<CallEvent>& events, std::size_t first, std::size_t count) {
  first = std::min(first, events.size());
  return std::span{events}.subspan(first, std::min(count, events.size() - first));
}

Sight sight_of(const SqlStatement& statement, std::span<const CallEvent> events) {
  if (!statement.with_events) return Sight::none;
  if (events.empty() || static_cast<std::int64_t>(events.size()) > most_events_sent) return Sight::in_place;
  std::size_t bytes = 0;
  for (const CallEvent& each : events) {
    if (!each.has_content) return Sight::in_place;
    bytes += event::size_of(*each.event);
  }
  return bytes <= most_bytes_sent ? Sight::sent : Sight::in_place;
}

std::size_t event_parameters(Sight sight) {
  if (sight == Sight::none) return 0;
  return sight == Sight::sent ? sent_parameters : place_parameters;
}

std::string events_expression(const std::string& text, std::size_t before) {
  std::string out;
  // At the beginning of a line: comments before it may say the same.
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

void add_events(SqlParameters& to, Sight sight, std::span<const CallEvent> events) {
  if (sight == Sight::in_place || sight == Sight::trusting) add_places(to, events);
  if (sight == Sight::sent) add_columns(to, events);
}

}  // namespace inboxd::inbox
