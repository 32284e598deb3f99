#include "operations/sample_queries.hpp"

#include "event/headers.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::operations {

std::optional<RecordState> read_record(inbox::Connection& connection, const std::string& topic, std::int32_t partition,
                                       std::int64_t offset) {
  const pqxx::params place{topic, partition, offset};
  const auto rows = inbox::run_read(connection, inbox::statements::test_record, place);
  if (rows.empty()) return std::nullopt;
  inbox::RowReader row{rows[0]};
  RecordState out;
  out.quarantined = row.maybe_text();
  out.event_id = row.maybe_text().value_or("");
  out.source_id = row.maybe_text().value_or("");
  out.event_type = row.maybe_text().value_or("");
  out.key = row.maybe_bytes();
  out.detail = row.maybe_text().value_or("");
  return out;
}

void enqueue(inbox::Connection& connection, const EnqueuedEvent& event) {
  const auto bytes = [](const std::optional<std::string>& value) {
    return value ? std::optional{pqxx::bytes{pqxx::binary_cast(*value)}} : std::nullopt;
  };
  const pqxx::params values{event.topic, event.type, bytes(event.payload), event.id, bytes(event.key), event.headers,
                            event.occurred_at, event.deliver_at};
  connection.access().run(inbox::statements::test_enqueue, values);
}

std::vector<EventState> read_event_states(inbox::Connection& connection, const std::string& event_id) {
  std::vector<EventState> out;
  for (const auto& each : inbox::run_read(connection, inbox::statements::test_outcomes, pqxx::params{event_id})) {
    inbox::RowReader row{each};
    EventState& state = out.emplace_back();
    state.handler = row.text();
    state.state = row.text();
    state.attempts = row.int4();
    state.error = row.text();
    state.has_failed = row.flag();
  }
  return out;
}

std::vector<OutgoingMessage> read_outbox(inbox::Connection& connection) {
  std::vector<OutgoingMessage> out;
  for (const auto& each : inbox::run_read(connection, inbox::statements::test_outbox, pqxx::params{})) {
    inbox::RowReader row{each};
    OutgoingMessage& message = out.emplace_back();
    message.topic = row.text();
    message.key = row.maybe_bytes();
    message.payload = row.maybe_bytes();
    const std::string packed = row.maybe_bytes().value_or("");
    for (const auto& header : event::unpack_headers(packed)) {
      auto& value = message.headers.emplace_back(header.name, std::nullopt).second;
      if (header.value) value = std::string{*header.value};
    }
  }
  return out;
}

base::Result<TextRows> run_sql(const std::string& url, const std::string& sql, std::chrono::milliseconds timeout) {
  try {
    pqxx::connection session{url};
    pqxx::nontransaction tx{session};
    tx.exec("set statement_timeout = " + std::to_string(timeout.count())).no_rows();
    TextRows out;
    for (const auto& row : tx.exec(sql)) {
      auto& texts = out.emplace_back();
      for (const auto& field : row) texts.push_back(field.as<std::optional<std::string>>());
    }
    return out;
  } catch (const pqxx::failure& error) {
    std::string text = error.what();
    while (text.ends_with('\n')) text.pop_back();
    return base::Problem{text};
  }
}

}  // namespace inboxd::operations
