#include "inbox/received_events.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

}  // namespace

std::vector<Receipt> receive(Connection& connection, const LedgerFilters& filters,
                             const std::vector<ReceivedEvent>& events) {
  ArrayParameter request{Type::int4}, topic{Type::text}, id{Type::uuid}, digest{Type::int8}, source_id{Type::text},
      type{Type::text}, source{Type::text}, subject{Type::text}, key{Type::bytea}, payload{Type::bytea},
      headers{Type::bytea}, occurred_at{Type::timestamptz}, deliver_at{Type::timestamptz}, suspect_filter{Type::int8},
      suspect_id{Type::uuid};
  std::vector<base::Uuid> ids;
  ids.reserve(events.size());
  for (const ReceivedEvent& each : events) {
    const event::Event& event = *each.event;
    request.add(each.request);
    topic.add(each.topic);
    id.add(event.event_id);
    ids.push_back(event.event_id);
    each.id_decides ? digest.add_null() : digest.add(event.digest);
    source_id.add(event.source_id);
    type.add(event.event_type);
    source.add(event.source);
    subject.add(event.subject);
    key.add(event.key);
    payload.add(event.payload);
    headers.add(event.headers);
    occurred_at.add_time(event.occurred_at);
    deliver_at.add_time(event.deliver_at);
  }
  const FilterAnswers answers = filters.ask(ids);
  auto asked = array_of(Type::int8, answers.filter_keys);
  for (const FilterSuspect& suspect : answers.suspects) {
    suspect_filter.add(suspect.filter_key);
    suspect_id.add(suspect.event_id);
  }
  pqxx::params parameters;
  for (ArrayParameter* array : {&request, &topic, &id, &digest, &source_id, &type, &source, &subject, &key, &payload,
                                &headers, &occurred_at, &deliver_at, &asked, &suspect_filter, &suspect_id}) {
    parameters.append(array->finish());
  }
  std::vector<Receipt> out(events.size(), Receipt::staged);
  for (const auto& row : connection.access().call(statements::receive, parameters)) {
    out.at(row[0].as<std::size_t>() - 1) = row[1].as<bool>() ? Receipt::conflict : Receipt::repeated;
  }
  return out;
}

}  // namespace inboxd::inbox
