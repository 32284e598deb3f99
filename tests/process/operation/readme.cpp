// What README shows works as it stands there.
#include <catch2/catch_test_macros.hpp>

#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/fenced.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// What README shows in its first block of that language, with what a test has to put in place of what stands there.
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

TEST_CASE("the table and the file that README begins with book each order once") {
  PrivatePostgres server;  // the daemon makes the schema that it calls its own by default
  Stage stage{1, server.url()};
  Session session{server.url(), "inbox"};
  session.run(shown("sql"));
  const std::string id = "0a000000-0000-4000-8000-000000000001", other = "0a000000-0000-4000-8000-000000000002";
  const std::string order = R"({"orderId": "A-1", "amount": 12.5})";
  stage.kafka.produce({event_message(stage.topic, id, order, "OrderPlaced"),
                       event_message(stage.topic, other, order, "OrderCancelled"),
                       event_message(stage.topic, id, order, "OrderPlaced")});
  const auto text = shown("yaml", {{"postgresql://app@localhost/app", server.url()},
                                   {"localhost:9092", stage.config.brokers},
                                   {"group: receipts", "group: " + stage.config.group},
                                   {"name: orders", "name: " + stage.topic}});
  // The port of its own is what every daemon here would want.
  const auto ran = command_with_file(text + "admin: {listen: off}\n", {"run", "--migrate", "--until-idle"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == ExitStatus{0, 0});
  CHECK(session.text("select string_agg(concat_ws(' ', event_id, order_id, amount), ', ') from receipt") ==
        id + " A-1 12.5");
}
