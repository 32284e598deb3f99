#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/fenced_block.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// README's first block of that language, with these replacements.
std::string shown(const std::string& language, const std::vector<std::pair<std::string, std::string>>& places = {}) {
  std::string out = fenced_block(read_file(INBOXD_README), language);
  for (const auto& [from, to] : places) {
    const auto at = out.find(from);
    INFO(from << " in\n" << out);
    REQUIRE(at != std::string::npos);
    out.replace(at, from.size(), to);
  }
  return out;
}

}  // namespace

TEST_CASE("README's first table and file give each order one row") {
  PrivatePostgres server;  // the daemon creates its default schema
  DaemonFixture fixture{1, server.url()};
  Session session{server.url(), "inbox"};
  session.run(shown("sql"));
  const std::string id = "0a000000-0000-4000-8000-000000000001", other = "0a000000-0000-4000-8000-000000000002";
  const std::string order = R"({"orderId": "A-1", "amount": 12.5})";
  fixture.kafka.produce({event_message(fixture.topic, id, order, "OrderPlaced"),
                         event_message(fixture.topic, other, order, "OrderCancelled"),
                         event_message(fixture.topic, id, order, "OrderPlaced")});
  const auto text = shown("yaml", {{"postgresql://app@localhost/app", server.url()},
                                   {"localhost:9092", fixture.config.brokers},
                                   {"group: receipts", "group: " + fixture.config.group},
                                   {"name: orders", "name: " + fixture.topic}});
  // Every daemon here would want the default port.
  const auto ran = command_with_file(text + "admin: {listen: off}\n", {"run", "--migrate", "--until-idle"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == ExitStatus{0, 0});
  CHECK(session.text("select string_agg(concat_ws(' ', event_id, order_id, amount), ', ') from receipt") ==
        id + " A-1 12.5");
}
