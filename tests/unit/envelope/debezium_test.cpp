#include "change_events.hpp"
#include "envelope/body.hpp"
#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;
using config::OnMissingId;

namespace {

constexpr std::string_view key = R"({"id":1004})";

/// Keeps the payload that the outcome's views point into.
class ChangeOutcome final {
 public:
  explicit ChangeOutcome(std::string payload, event::MaybeBytes of_key = key, const TopicRules& by = rules())
      : payload_{std::move(payload)}, outcome_{record(payload_, of_key), by} {}
  const Outcome* operator->() const { return &outcome_; }

 private:
  const std::string payload_;
  const Outcome outcome_;
};

}  // namespace

TEST_CASE("a change event has its place in the database's log as id, and table and operation as type") {
  const ChangeOutcome outcome{Change{}.json()};
  CHECK(outcome->event().source_id == "postgresql lsn=24023128 txId=555 ts_ms=1559033904123 op=c"sv);
  CHECK(outcome->event().event_type == "inventory.customers:c");
  CHECK(outcome->event().source == "dbserver1"sv);
  CHECK(outcome->event().subject == key);
  CHECK(outcome->event().occurred_at == 1559033904123000);
  CHECK(ChangeOutcome(Change{}.json(), key, rules(EnvelopeKind::debezium))->id() == outcome->id());
}

TEST_CASE("a change event with a converter's schema is the same event, key and value") {
  const std::string_view key_with_schema =
      R"({"schema":{"type":"struct","fields":[{"type":"int32","field":"id"}],"name":"Key"},"payload":{"id":1004}})";
  const ChangeOutcome plain{Change{}.json()}, with_schema{Change{}.with_schema(), key_with_schema};
  CHECK(with_schema->id() == plain->id());
  CHECK(with_schema->event().digest == plain->event().digest);
  CHECK(with_schema->event().event_type == "inventory.customers:c");
  std::string storage;
  const std::string payload = Change{}.with_schema();
  CHECK(body_in(payload, config::Unwrap::automatic, storage).text == Change{}.json());
  const std::string in_string = R"("{\"before\":null,\"after\":{},\"source\":{\"connector\":\"postgresql\",\"lsn\":1,)"
                                R"(\"table\":\"t\"},\"op\":\"c\",\"ts_ms\":1}")";
  CHECK(ChangeOutcome(in_string)->event().event_type == "t:c");
}

// Debezium sends changes again after a crash of its worker.
TEST_CASE("a change that Debezium sends again is the same event with the same digest") {
  Change again;
  again.sent = "1559033999999";
  const ChangeOutcome first{Change{}.json()}, second{again.json()};
  CHECK(first->id() == second->id());
  CHECK(first->event().digest == second->event().digest);
  again.after = R"({"id":1004,"first_name":"Bob"})";
  CHECK(ChangeOutcome(again.json())->event().digest != first->event().digest);
}

TEST_CASE("changes of other rows, operations, topics and positions are other events") {
  const std::string id = ChangeOutcome(Change{}.json())->id();
  CHECK(ChangeOutcome(Change{}.json(), R"({"id":1005})")->id() != id);
  Change other;
  other.op = "d";
  CHECK(ChangeOutcome(other.json())->id() != id);
  other = Change{};
  other.lsn = "24023129";
  CHECK(ChangeOutcome(other.json())->id() != id);
  const std::string payload = Change{}.json();
  event::Record elsewhere = record(payload, key);
  elsewhere.topic = "copy";
  CHECK(Outcome{elsewhere}.id() != id);
  CHECK(ChangeOutcome(mysql("0"))->id() != ChangeOutcome(mysql("1"))->id());
}

TEST_CASE("a row of a snapshot is an event of its key") {
  Change row;
  row.op = "r";
  row.snapshot = R"("first_in_data_collection")";
  const ChangeOutcome outcome{row.json()};
  CHECK(outcome->event().event_type == "inventory.customers:r");
  CHECK(outcome->id() != ChangeOutcome(row.json(), R"({"id":1005})")->id());
}

TEST_CASE("each connector's position is known") {
  CHECK(ChangeOutcome(mysql("0"))->event().source_id ==
        R"(mysql file="mysql-bin.000003" pos=484 row=0 server_id=223344 ts_ms=1465581029000 op=u)"sv);
  CHECK(ChangeOutcome(mysql("0"))->event().event_type == "inventory.customers:u");
  CHECK(ChangeOutcome(mongodb())->event().source_id == "mongodb ord=31 ts_ms=1558965508000 op=c"sv);
  CHECK(ChangeOutcome(sqlserver())->event().event_type == "dbo.customers:c");
  CHECK(ChangeOutcome(sqlserver())->event().source_id->starts_with("sqlserver commit_lsn=\"00000027:00000758:0005\""));
  CHECK(ChangeOutcome(oracle(R"("0x0034b1.00143517.0010")"))->is_event());
}

TEST_CASE("a change whose position other changes may share has no id") {
  const auto rejection = [](const std::string& payload, event::MaybeBytes of_key = key) {
    return ChangeOutcome(payload, of_key)->rejection();
  };
  CHECK(rejection(Change{}.json(), std::nullopt) ==
        "no_id: a change event without a key: rows may share its position");
  CHECK(rejection(Change{}.json(), R"({"schema":null,"payload":null})").starts_with("no_id"));
  CHECK(rejection(oracle("null")) ==
        "no_id: a change event without source.rs_id: its transaction's changes share a position");
  CHECK(rejection(mongodb("7")).starts_with("no_id: a change event of a transaction in MongoDB"));
  CHECK(rejection(mongodb("7", R"({"id":"x","total_order":2,"data_collection_order":1})")).empty());
  CHECK(rejection(R"({"op":"c","ts_ms":1,"source":{"connector":"other","table":"t"}})")
            .starts_with("no_id: a change event of a connector whose positions inboxd does not know"));
  CHECK(rejection(R"({"op":"c","ts_ms":1,"source":{"connector":"postgresql","lsn":null}})") ==
        "no_id: a change event without source.lsn");
  const TopicRules by_position = rules(EnvelopeKind::debezium, OnMissingId::position);
  CHECK(ChangeOutcome(Change{}.json(), std::nullopt, by_position)->event().event_type == "inventory.customers:c");
}

TEST_CASE("a truncated table is an event without a key") {
  Change truncate;
  truncate.op = "t";
  CHECK(ChangeOutcome(truncate.json(), std::nullopt)->event().event_type == "inventory.customers:t");
}

TEST_CASE("what only resembles a change event is none") {
  for (const std::string& json :
       {std::string{R"({"op":"c","source":{},"ts":1})"}, std::string{R"({"op":"copy","source":{},"ts_ms":1})"},
        std::string{R"({"op":"c","source":"x","ts_ms":1})"}, std::string{R"({"a":{"op":"c","source":{},"ts_ms":1}})"},
        std::string{R"([{"op":"c","source":{},"ts_ms":1}])"}, std::string{R"({"op":"c","source":{},"ts_ms":1)"},
        std::string{R"({"source":{"connector":"mysql"},"ts_ms":1,"databaseName":"d","ddl":"create"})"},
        std::string{R"({"ts_ms":1})"}}) {
    INFO(json);
    CHECK(ChangeOutcome(json)->rejection().starts_with("no_id: no CloudEvent"));
    CHECK(ChangeOutcome(json, key, rules(EnvelopeKind::debezium))->rejection() ==
          "no_id: the value is not JSON with op, source and ts_ms");
  }
}

TEST_CASE("odd members of a change event do no harm") {
  const auto outcome = [](std::string_view source) {
    return ChangeOutcome{R"({"op":"c","ts_ms":1,"source":)" + std::string{source} + "}"};
  };
  CHECK(outcome(R"({"connector":"postgresql","lsn":1,"table":{"schema":1,"payload":null},"name":7})")->is_event());
  CHECK(outcome(R"({"connector":"postgresql","lsn":1,"schema":"ta\u0062le","table":"\"t\""})")->event().event_type ==
        "table.\"t\":c");
  CHECK(outcome(R"({"connector":"postgresql","lsn":")" + std::string(300, 'x') + "\"}")->reason() == "bad_id");
  CHECK(outcome(R"({"connector":"postgresql","lsn":1,"table":")" + std::string(2000, 'x') + "\"}")->reason() ==
        "undecodable");
  CHECK(outcome(R"({"connector":"postgresql","lsn":1,"table":"a\u0000b"})")->reason() == "undecodable");
  CHECK(outcome(R"({"connector":"postgresql","lsn":)" + std::string(5000, '[') + std::string(5000, ']') + "}")
            ->reason() == "bad_id");
}

TEST_CASE("under strict a change event needs its table") {
  TopicRules strict = rules();
  strict.topic.strict = true;
  CHECK(ChangeOutcome(Change{}.json(), key, strict)->is_event());
  const std::string without_table = R"({"op":"m","ts_ms":1,"source":{"connector":"postgresql","lsn":1}})";
  CHECK(ChangeOutcome(without_table, key, strict)->rejection() ==
        "undecodable: a change event without source.table (topics[].strict)");
}
