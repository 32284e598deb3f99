// Orders in Avro, a registry that knows their schema, and a table of the application that they reach.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/fake_registry.hpp"

namespace inboxd::support {

inline constexpr const char* schema = R"({"type":"record","name":"Order","fields":[
  {"name":"id","type":"string"},{"name":"customer","type":["null","string"]},{"name":"n","type":"long"},
  {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]})";

inline std::string number(std::int64_t value) {
  auto bits = static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
  std::string out;
  for (; bits >= 128; bits >>= 7) out += static_cast<char>(bits | 128);
  return out + static_cast<char>(bits);
}

inline std::string text(const std::string& value) { return number(static_cast<std::int64_t>(value.size())) + value; }

/// An order as Confluent's serializer writes it. Its price is 5.00.
inline std::string order(int schema_id, const std::string& id, int n) {
  const std::string prefix{0, 0, 0, static_cast<char>(schema_id >> 8), static_cast<char>(schema_id & 255)};
  return prefix + text(id) + number(1) + text("c-" + std::to_string(n % 7)) + number(n) + text("\x01\xf4");
}

struct AvroFixture : DaemonFixture {
  explicit AvroFixture(int partitions = 1, const std::string& database_url = "")
      : DaemonFixture{partitions, database_url} {
    registry.add_schema(258, schema);
    config.topics = {topic_in_avro()};
    app.run("create table app.orders (event_id uuid, subject text, n bigint, price numeric)");
    config.handlers = {app.statement("orders",
                                     "insert into app.orders select event_id, subject, (body->>'n')::bigint, "
                                     "(body->>'price')::numeric from events")};
  }

  std::string topic_in_avro() const {
    return "{name: " + topic +
           ", envelope: custom, custom: {id: 'json:/id', subject: 'json:/customer'}, value: {format: avro, "
           "registry: {url: " +
           registry.url() + ", timeout: 5s}}}";
  }

  /// Orders with numbers from `first` on.
  void produce_orders(int count, int first = 0, int schema_id = 258) {
    std::vector<Message> messages;
    for (int i = first; i < first + count; ++i) {
      Message message;
      message.topic = topic;
      message.payload = order(schema_id, "order-" + std::to_string(i), i);
      messages.push_back(std::move(message));
    }
    kafka.produce(messages);
  }

  void wait_rows(std::int64_t wanted) {
    app.wait_for("orders are in the table", "select count(*) from app.orders", wanted);
  }
  std::int64_t quarantined() { return database.number("select count(*) from inbox.quarantine"); }
  std::string halted_reason() {
    return database.text("select coalesce(string_agg(halted_reason, ' '), '') from inbox.lag where topic = '" + topic +
                         "'");
  }

  FakeRegistry registry;
  Application app{database};
};

}  // namespace inboxd::support
