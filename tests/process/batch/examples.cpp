#include <catch2/catch_test_macros.hpp>

#include "process/support/batch_fixture.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("the example daily_report writes its report, and the newest state of each customer") {
  PrivatePostgres server;  // it creates its own schema
  DaemonFixture fixture{1, server.url()};
  std::string text = read_file(INBOXD_EXAMPLES "/daily_report/inboxd.yaml");
  const auto put = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  put("${REPORT_DATABASE:-postgresql://app@localhost/app}", server.url());
  put("${REPORT_BROKERS:-localhost:9092}", fixture.config.brokers);
  put("- name: orders", "- name: " + fixture.topic);
  put("topics: [orders], types", "topics: [" + fixture.topic + "], types");
  put("topics: [orders]", "topics: [" + fixture.topic + "]");
  REQUIRE(command_with_file(text, {"migrate"}).status == ExitStatus{0, 0});
  Session session{server.url(), "inbox"};
  session.run(read_file(INBOXD_EXAMPLES "/daily_report/tables.sql"));
  const auto check = command_with_file(text, {"check"});
  INFO(check.out << check.err);
  CHECK(check.status == ExitStatus{0, 0});

  std::vector<Message> orders;
  for (int i = 0; i < 12; ++i) {
    const std::string product = i % 3 == 0 ? "tea" : "coffee";
    orders.push_back(
        event_message(fixture.topic, "00000000-0000-4000-9000-00000000000" + std::string{"0123456789ab"[i]},
                      "{\"product\": \"" + product + "\", \"amount\": " + std::to_string(i) + "}", "OrderPlaced"));
    orders.back().key = "customer" + std::to_string(i % 2);
  }
  fixture.kafka.produce(orders);
  const auto run = command_with_file(text, {"run", "--until-idle"});
  INFO(run.err);
  CHECK(run.status == ExitStatus{0, 0});
  CHECK(session.text("select string_agg(product || ' ' || orders || ' ' || amount, ', ' order by product) "
                     "from report.daily") == "coffee 8 48, tea 4 18");
  CHECK(session.text("select string_agg(customer || ' ' || \"offset\" || ' ' || (state->>'amount'), ', ' "
                     "order by customer) from report.customer") == "customer0 10 10, customer1 11 11");
}
