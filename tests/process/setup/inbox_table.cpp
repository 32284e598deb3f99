// The page on hand-made inbox tables, step by step, against real servers.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "process/setup/pages.hpp"
#include "support/kafka.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A UUID that ends in this digit.
std::string id_of(int n) { return "550e8400-e29b-41d4-a716-44665544000" + std::to_string(n); }

std::string order(int n) {
  return R"({"orderId": "A-)" + std::to_string(n) + R"(", "amount": )" + std::to_string(n) + "}";
}

}  // namespace

TEST_CASE("inbox table page: pending rows are handled once, and messages of the worker are not handled again") {
  const Page page{"coming-from-inbox-table.md"};
  PrivatePostgres server;
  Session session{server.url(), "inbox"};
  Kafka kafka;
  const std::string topic = kafka.create_topic(), group = random_name("group");
  const auto send = [&](int n) {
    kafka.produce({Message{.topic = topic,
                           .key = "k" + std::to_string(n),
                           .payload = order(n),
                           .headers = {{"message-id", id_of(n)}, {"message-type", "OrderPlaced"}}}});
  };
  session.run(page.block("sql"));
  // The old consumer has read 1 to 4 and committed 3: 4 is in the table, and comes again. The worker has handled 1.
  for (int n = 1; n <= 4; ++n) {
    send(n);
    session.run("insert into inbox_message values ($1, 'OrderPlaced', $2, $3, now() + $4::int * interval '1 s', "
                "case when $4::int = 1 then now() end)",
                {id_of(n), "k" + std::to_string(n), order(n), std::to_string(n)});
  }
  session.run("insert into receipt values ('A-1', 1)");
  commit_offset(kafka.brokers(), group, topic, 3);
  const TempFolder folder;
  write_file(folder / "inboxd.yaml",
             page.block("yaml", "",
                        {{"postgresql://app@localhost/app", server.url()},
                         {"localhost:9092", kafka.brokers()},
                         {"order-service", group},
                         {"name: orders\n", "name: " + topic + "\n"},
                         {"[orders, ", "[" + topic + ", "}}) +
                 "admin: {listen: off}\n");
  run_shell(folder.path(), page.block("sh", "**Make the inbox"));
  const std::string in_parts = page.block("sql", "For millions of rows", {{"limit 10000", "limit 1"}});
  CHECK(session.number(in_parts) == 1);  // of message 2
  CHECK(session.number("select count(*) from inbox_message where processed_at is null") == 2);
  session.run(page.block("sql", "**Take over the pending rows**"));
  CHECK(session.number(in_parts) == 0);
  CHECK(session.number("select count(*) from inbox_message") == 1);
  send(1);  // a producer sends all of them again
  send(2);
  send(4);
  send(5);
  run_shell(folder.path(), "inboxd --config inboxd.yaml run --until-idle");
  CHECK(session.text("select string_agg(order_id, ' ' order by order_id) from receipt") == "A-1 A-2 A-3 A-4 A-5");
  CHECK(session.number("select count(*) from inbox.quarantine") == 0);
  CHECK(session.number("select count(*) from inbox.dead_letter") == 0);
  CHECK(session.number("select count(*) from inbox.local_event") == 0);
  run_shell(folder.path(), "inboxd --config inboxd.yaml verify --against database");
}
