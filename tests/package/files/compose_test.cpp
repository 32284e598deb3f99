// The parts of the compose example without an engine: the producer's lines, the shop's table, the configuration.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "package/support/packages.hpp"
#include "support/daemon_process.hpp"
#include "support/kafka.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

/// A line for the console producer: headers, key and payload, separated by tabs.
Message message_of(const std::string& topic, const std::string& line) {
  const auto first = line.find('\t'), second = line.find('\t', first + 1);
  REQUIRE(second != std::string::npos);
  Message out{topic, line.substr(first + 1, second - first - 1), line.substr(second + 1)};
  std::istringstream headers{line.substr(0, first)};
  for (std::string header; std::getline(headers, header, ',');) {
    const auto colon = header.find(':');
    out.headers.emplace_back(header.substr(0, colon), header.substr(colon + 1));
  }
  return out;
}

/// The first orders that the script sends, including repeated orders.
std::vector<std::string> lines_of_producer(int orders) {
  const std::string script =
      "set -euo pipefail; eval \"$(sed -n '/^order()/,/^}/p' \"$0\")\"; "
      "for ((number = 1; number <= $1; number++)); do id=$(cat /proc/sys/kernel/random/uuid); order $number $id; "
      "if ((number % 3 == 0)); then order $number $id; fi; done";
  std::istringstream lines{must({"bash", "-c", script, source_file("config/compose/orders"), std::to_string(orders)})};
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE(
    "the parts of the compose example work together: each order has one receipt and one notification, even if sent "
    "twice") {
  PrivatePostgres postgres;
  must({"psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", source_file("config/compose/shop.sql"), postgres.url()});
  Kafka kafka;
  const std::string topic = kafka.create_topic(4);
  const auto lines = lines_of_producer(30);
  CHECK(lines.size() == 40);
  std::vector<Message> messages;
  for (const std::string& line : lines) messages.push_back(message_of(topic, line));
  kafka.produce(messages);

  const TempFolder folder;
  write_file(folder / "password", "any");
  std::string text = read_file(source_file("config/compose/inboxd.yaml"));
  text = replaced(text, "name: orders", "name: " + topic);
  text = replaced(text, "topics: [orders]", "topics: [" + topic + "]");
  text = replaced(text, "topics: [orders]", "topics: [" + topic + "]");
  text = replaced(text, "/run/secrets/pg-password", folder / "password");
  const std::string port = std::to_string(free_port());
  Process notify{{.arguments = {"python3", source_file("config/compose/notify.py")},
                  .environment = {{"PORT", port}},
                  .out = folder / "notified"}};
  const auto run = command_with_file(text + "\nadmin: {listen: off}\n", {"run", "--migrate", "--until-idle"}, nullptr,
                                     {{"DATABASE_URL", postgres.url()},
                                      {"KAFKA_BROKERS", kafka.brokers()},
                                      {"NOTIFY_URL", "http://127.0.0.1:" + port}});
  INFO(run.err);
  CHECK(run.status == ExitStatus{0, 0});
  Session shop{postgres.url(), "inbox"};
  CHECK(shop.number("select count(*) from receipt") == 30);
  CHECK(shop.number("select count(*) from receipt where amount >= 6 and customer like 'C-_'") == 30);
  CHECK(shop.number("select count(*) from inbox.events") == 30);
  const std::string notified = read_file(folder / "notified");
  CHECK(std::count(notified.begin(), notified.end(), '\n') == 30);
}
