// Records as Debezium's connector for PostgreSQL and Kafka Connect's converters write them.
#include <set>

#include "change_events.hpp"
#include "debezium_records.hpp"
#include "envelope/body.hpp"
#include "event/top_members.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;

namespace {

std::set<std::string> names_in(std::string_view json) {
  std::set<std::string> out;
  for (event::TopMembers members{json}; members.next();) out.emplace(members.name);
  return out;
}

std::string source_in(std::string_view json) {
  for (event::TopMembers members{json}; members.next();) {
    if (members.name == "source") return std::string{members.raw};
  }
  return "";
}

}  // namespace

TEST_CASE("changes as Debezium writes them are events of their table, each with an id of its own") {
  const std::vector<std::pair<std::string, WrittenRecord>> changes{{"r", debezium_snapshot()},
                                                                   {"c", debezium_insert()},
                                                                   {"u", debezium_update()},
                                                                   {"d", debezium_delete()},
                                                                   {"t", debezium_truncate()}};
  std::set<std::string> ids;
  for (const auto& [op, written] : changes) {
    INFO(op);
    const Outcome outcome{record_of(written), strict_rules()};
    CHECK(outcome.event().event_type == "inventory.customers:" + op);
    CHECK(outcome.event().source == "dbserver1"sv);
    CHECK(outcome.event().subject == written.key);
    CHECK(outcome.event().source_id->starts_with("postgresql lsn="));
    CHECK(outcome.event().source_id->ends_with(" op=" + op));
    CHECK(outcome.event().occurred_at);
    CHECK(Outcome{record_of(written)}.id() == outcome.id());
    CHECK(Outcome{record_of(written), rules(EnvelopeKind::debezium)}.id() == outcome.id());
    ids.insert(outcome.id());
  }
  CHECK(ids.size() == changes.size());
}

TEST_CASE("a change that Kafka Connect writes with its schema is the same event") {
  const WrittenRecord plain = debezium_insert(), with_schema = debezium_insert_with_schema();
  const Outcome of_plain{record_of(plain)}, of_schema{record_of(with_schema)};
  CHECK(of_schema.id() == of_plain.id());
  CHECK(of_schema.event().digest == of_plain.event().digest);
  std::string storage;
  CHECK(body_in(*with_schema.value, config::Unwrap::automatic, storage).text == *plain.value);
}

TEST_CASE("a message in the database's log has no table, and the tombstone after a delete is skipped") {
  CHECK(Outcome{record_of(debezium_message()), strict_rules()}.event().event_type == ":m");
  CHECK(Outcome{record_of(debezium_tombstone()), rules(EnvelopeKind::debezium)}.is_skipped());
}

// Debezium gives all rows of a snapshot the same CloudEvents id.
TEST_CASE("changes that Debezium writes as CloudEvents are told apart by their row's key") {
  const Outcome first{record_of(cloudevent_of_snapshot()), strict_rules()};
  const Outcome second{record_of(cloudevent_of_snapshot_of_another_row()), strict_rules()};
  const Outcome insert{record_of(cloudevent_of_insert()), strict_rules()};
  CHECK(first.event().source_id == second.event().source_id);
  CHECK(first.id() != second.id());
  CHECK(insert.event().event_type == "io.debezium.connector.postgresql.DataChangeEvent");
  CHECK(insert.event().source == "/debezium/postgresql/dbserver1"sv);
  CHECK(insert.event().subject == R"({"id":1004})"sv);
  WrittenRecord with_schema = cloudevent_of_insert();
  with_schema.key = debezium_insert_with_schema().key;
  CHECK(Outcome{record_of(with_schema), rules(EnvelopeKind::cloudevents)}.id() == insert.id());
  WrittenRecord other_change = cloudevent_of_insert();
  std::string value{*other_change.value};
  value.replace(value.find(R"("iodebeziumop":"c")"), 18, R"("iodebeziumop":"d")");
  other_change.value = value;
  CHECK(Outcome{record_of(other_change), strict_rules()}.id() != insert.id());  // at the same position
  with_schema.key = std::nullopt;
  CHECK(Outcome{record_of(with_schema)}.rejection() ==
        "no_id: a change event without a key: rows may share its CloudEvents id");
}

TEST_CASE("an outbox row that Debezium routes is the same event by each of Kafka Connect's converters") {
  for (const WrittenRecord& written : {outbox(), outbox_in_json(), outbox_with_schema()}) {
    const Outcome outcome{record_of(written), strict_rules()};
    CHECK(outcome.id() == a_uuid);
    CHECK(outcome.event().event_type == "OrderPlaced");
    CHECK(outcome.event().subject == "order-7"sv);
    CHECK(outcome.event().payload == written.value);
    CHECK(Outcome{record_of(written), rules(EnvelopeKind::outbox_router)}.id() == a_uuid);
    std::string storage;
    CHECK(body_in(*written.value, config::Unwrap::automatic, storage).text == R"({"orderId": 1})");
  }
}

TEST_CASE("a change composed for other tests has the members of a real one") {
  const WrittenRecord real = debezium_insert();
  const std::string composed = Change{}.json();
  CHECK(names_in(composed) == names_in(*real.value));
  CHECK(names_in(source_in(composed)) == names_in(source_in(*real.value)));
}
