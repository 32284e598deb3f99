#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>

#include "process/support/daemon_fixture.hpp"
#include "support/fenced_block.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

using Places = std::vector<std::pair<std::string, std::string>>;

/// The first block of that language, with these replacements: of README, or behind a text of the page of first files.
std::string shown(const std::string& language, const Places& places = {}, const std::string& behind = "") {
  std::string out = fenced_block(read_file(behind.empty() ? INBOXD_README : INBOXD_FIRST_FILES), language, behind);
  for (const auto& [from, to] : places) {
    const auto at = out.find(from);
    INFO(from << " in\n" << out);
    REQUIRE(at != std::string::npos);
    out.replace(at, from.size(), to);
  }
  return out;
}

std::string first_file(const PrivatePostgres& server, const DaemonFixture& fixture) {
  return shown("yaml", {{"postgresql://app@localhost/app", server.url()},
                        {"localhost:9092", fixture.config.brokers},
                        {"group: receipts", "group: " + fixture.config.group},
                        {"name: orders", "name: " + fixture.topic},
                        {"topics: [orders]", "topics: [" + fixture.topic + "]"}}) +
         "admin: {listen: off}\n";  // every daemon here would want the default port
}

std::string without_admin(const std::string& file) {
  std::string out = file;
  const auto at = out.find("admin: ");
  if (at != std::string::npos) out.erase(at, out.find('\n', at) + 1 - at);
  return out + "admin: {listen: off}\n";
}

}  // namespace

TEST_CASE("README's record, typed into a console producer, is a row of README's first table") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  Session session{server.url(), "inbox"};
  session.run(shown("sql"));
  std::string line = shown("json");
  line.erase(line.find_last_not_of('\n') + 1);
  fixture.kafka.produce({Message{.topic = fixture.topic, .payload = line}});
  const auto ran = command_with_file(first_file(server, fixture), {"run", "--migrate", "--until-idle"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == ExitStatus{0, 0});
  CHECK(session.text("select concat_ws(' ', order_id, amount) from receipt") == "A-1 12.5");
}

TEST_CASE("README's first file and the two of the next page have different admin ports and groups") {
  std::set<std::string> ports, groups;
  const auto value = [](const std::string& file, const std::string& key, const std::string& otherwise) {
    const auto at = file.find(key);
    return at == std::string::npos ? otherwise : file.substr(at + key.size(), file.find('}', at) - at - key.size());
  };
  for (const std::string behind : {"", "**An application beside", "**A program**"}) {
    const std::string file = shown("yaml", {}, behind);
    ports.insert(value(file, "admin: {listen: ", "\"127.0.0.1:9470\""));
    groups.insert(value(file, "group: ", ""));
  }
  CHECK(ports.size() == 3);
  CHECK(groups.size() == 3);
}

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
  const auto ran = command_with_file(first_file(server, fixture), {"run", "--migrate", "--until-idle"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == ExitStatus{0, 0});
  CHECK(session.text("select string_agg(concat_ws(' ', event_id, order_id, amount), ', ' order by event_id) from "
                     "receipt") == id + " A-1 12.5, " + other + " A-1 12.5");
}

namespace {

/// The handler after that text, with an order that its code gets.
struct Quickstart {
  Quickstart(std::string text, std::string group) : behind{std::move(text)}, places{{"group: " + group, ""}} {
    places[0].second = "group: " + fixture.config.group;
    places.insert(places.end(), {{"postgresql://app@localhost/app", server.url()},
                                 {"localhost:9092", fixture.config.brokers},
                                 {"name: orders", "name: " + fixture.topic},
                                 {"topics: [orders]", "topics: [" + fixture.topic + "]"}});
  }
  /// Runs the daemon until the order is done.
  void run() {
    fixture.kafka.produce(
        {event_message(fixture.topic, "0a000000-0000-4000-8000-000000000001", R"({"orderId": "A-1"})")});
    const auto ran =
        command_with_file(without_admin(shown("yaml", places, behind)), {"run", "--migrate", "--until-idle"});
    INFO(ran.out << ran.err);
    CHECK(ran.status == ExitStatus{0, 0});
    log = ran.err;
    Session session{server.url(), "inbox"};
    CHECK(session.text("select state from inbox.deliveries") == "done");
  }

  const std::string behind;
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  Places places;
  TempFolder folder;
  std::string log;
};

}  // namespace

TEST_CASE("the application in Flask of the first files gets an order") {
  Quickstart test{"**An application beside", "notifications"};
  std::ofstream{test.folder / "notify.py"} << shown("python", {}, test.behind);
  auto programs = run_to_end({.arguments = {INBOXD_SERVICES_SETUP}}, milliseconds{300'000}).out;
  programs.resize(programs.find_last_not_of('\n') + 1);
  const std::string port = std::to_string(free_port());
  test.places.emplace_back("127.0.0.1:8080", "127.0.0.1:" + port);
  const Process application{{.arguments = {programs.substr(programs.rfind('\n') + 1) + "/flask", "--app",
                                           test.folder / "notify.py", "run", "--port", port},
                             .out = test.folder / "out"}};
  test.run();
  CHECK(read_file(test.folder / "out").find("0a000000-0000-4000-8000-000000000001 A-1\n") != std::string::npos);
}

TEST_CASE("the program in Python of the first files gets an order") {
  Quickstart test{"**A program**", "mails"};
  const auto program = test.folder / "mail.py";
  std::ofstream{program} << shown("python", {}, test.behind);
  test.places.emplace_back("/opt/mail.py", program.string());
  test.run();
  CHECK(test.log.find("mail for order A-1") != std::string::npos);
}
