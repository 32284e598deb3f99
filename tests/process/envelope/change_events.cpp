#include <catch2/catch_test_macros.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "unit/envelope/change_events.hpp"

using namespace inboxd;
using namespace inboxd::support;
using envelope::test::Change;

namespace {

// As in config/handlers/sql.md.
constexpr std::string_view apply_changes = R"(
  with change as (
    select distinct on (key_bytes) body->>'op' as op,
      body->(case body->>'op' when 'd' then 'before' else 'after' end) as of_row
    from events order by key_bytes, "offset" desc),
  of_id as (
    select op, of_row, coalesce(of_row->>'id', 'no id in the change')::bigint as id from change),
  gone as (
    delete from app.customer using of_id where op = 'd' and customer.id = of_id.id)
  insert into app.customer (id, first_name, email)
  select id, of_row->>'first_name', of_row->>'email' from of_id where op <> 'd'
  on conflict (id) do update set first_name = excluded.first_name, email = excluded.email)";

std::string row(int id, const std::string& name) {
  return R"({"id":)" + std::to_string(id) + R"(,"first_name":")" + name + R"(","email":"a@example.org"})";
}

/// A change of a row, and after a delete its tombstone, as Debezium writes them.
/// `has_text_key`: else the key's bytes are no text, as in Avro.
std::vector<Message> change(const std::string& topic, int id, const std::string& op, int lsn, const std::string& name,
                            bool has_text_key) {
  Change written;
  written.op = op;
  written.lsn = std::to_string(lsn);
  written.before = op == "d" ? row(id, name) : "null";
  written.after = op == "d" ? "null" : row(id, name);
  written.snapshot = op == "r" ? R"("true")" : R"("false")";
  const std::string key =
      has_text_key ? R"({"id":)" + std::to_string(id) + "}" : "\xff" + std::string(1, static_cast<char>(2 * id));
  const std::string value = id % 2 == 0 ? written.json() : written.with_schema();
  std::vector<Message> out{{.topic = topic, .key = key, .payload = value}};
  if (op == "d") out.push_back({.topic = topic, .key = key, .payload = std::nullopt});
  return out;
}

}  // namespace

TEST_CASE("change events of Debezium keep a table like the table that they come from") {
  using Way = std::pair<std::string, bool>;
  for (const auto& [per_call, has_text_key] : {Way{"1", true}, Way{"100", true}, Way{"100", false}}) {
    CAPTURE(per_call, has_text_key);
    DaemonFixture fixture{2};
    Application app{fixture.database};
    app.run("create table app.customer (id bigint primary key, first_name text, email text)");
    fixture.config.topics = {"{name: " + fixture.topic + ", envelope: debezium}"};
    fixture.config.handlers = {
        app.statement("table", apply_changes, {"mode: sequential", "events_per_call: " + per_call})};
    fixture.config.handlers.front().types = {"inventory.customers:*"};
    const auto send = [&](int id, const std::string& op, int lsn, const std::string& name) {
      fixture.kafka.produce(change(fixture.topic, id, op, lsn, name, has_text_key));
    };
    for (int id = 1; id <= 10; ++id) send(id, "r", 100, "snapshot");
    const auto daemon = fixture.start();
    for (int id = 1; id <= 4; ++id) send(id, "u", 200 + id, "updated");
    for (int id = 3; id <= 6; ++id) send(id, "d", 300 + id, "updated");
    send(3, "c", 400, "again");
    send(11, "c", 401, "new");
    for (int id = 1; id <= 4; ++id) send(id, "u", 200 + id, "updated");  // Debezium after a crash of its worker
    fixture.database.wait_for("all records are read",
                              "select coalesce(sum(position), 0)::bigint from inbox.lag", 28);
    app.wait_for("all are applied", "select count(*) from inbox.delivery", 0);
    CHECK(app.text("select string_agg(id || ' ' || first_name, ', ' order by id) from app.customer") ==
          "1 updated, 2 updated, 3 again, 7 snapshot, 8 snapshot, 9 snapshot, 10 snapshot, 11 new");
    CHECK(fixture.database.number("select count(*) from inbox.event") == 20);
    CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
    CHECK(fixture.database.text("select string_agg(distinct event_type, ' ' order by event_type) from inbox.event") ==
          "inventory.customers:c inventory.customers:d inventory.customers:r inventory.customers:u");
  }
}
