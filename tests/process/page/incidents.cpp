// Twelve incidents: the overview alone names the cause, within thirty seconds of its opening.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <thread>

#include "process/page/dialogs.hpp"
#include "support/private_postgres.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Opens the page, and waits until it has all these texts.
void check_cause(PageFixture& page, const std::string& name, const std::vector<std::string>& texts) {
  const auto begin = std::chrono::steady_clock::now();
  page.open();
  for (const std::string& text : texts) page.browser.wait_text(text);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "incident " << name << ": " << took.count() << " s from opening the page to its cause\n";
  page.browser.screenshots("incident-" + name);
  CHECK(page.browser.barriers() == std::vector<std::string>{});
}

/// Events with these keys and types.
void produce_keyed(PageFixture& page, const std::vector<std::pair<std::string, std::string>>& events) {
  std::vector<Message> messages;
  for (const auto& [key, type] : events) {
    static int number = 0;
    const std::string id = "2a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++);
    messages.push_back(event_message(page.admin.topic, id, "{}", type));
    messages.back().key = key;
  }
  page.admin.fixture.kafka.produce(messages);
}

const std::string slow_retry = "retry: {max_attempts: 50, backoff: fixed, base: 200ms, jitter: 0}";

}  // namespace

TEST_CASE("the overview names a handler that fails, with its error") {
  PageFixture page;
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {slow_retry};
  page.start();
  produce_keyed(page, {{"a", "Bad"}, {"b", "Bad"}, {"c", "Bad"}, {"a", "Happened"}});
  page.admin.database.wait_for("it has failed often", "select (count(*) >= 30)::int from inbox.failure", 1);
  check_cause(page, "handler-fails",
              {"calls of handler recorder failed since", "told to fail", "Retry waiting events"});
}

TEST_CASE("the overview names a handler that is too slow, with rates and busy calls") {
  PageFixture page;
  page.admin.fixture.set("takes", "500ms");
  page.admin.config.handlers[0].more = {"concurrency: 2"};
  page.start();
  for (int i = 0; i < 20; ++i) {
    page.admin.fixture.produce(20);
    std::this_thread::sleep_for(milliseconds{1'000});  // the load
  }
  check_cause(page, "handler-slow", {"handler recorder is too slow", "Raise concurrency of recorder"});
}

TEST_CASE("the overview names a stuck key, its error and the events that wait for it") {
  PageFixture page;
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"mode: sequential",
                                        "retry: {max_attempts: 50, backoff: fixed, base: 1h, jitter: 0}"};
  page.start();
  produce_keyed(page, {{"cust-7", "Bad"}, {"cust-7", "Happened"}, {"cust-7", "Happened"}, {"other", "Happened"}});
  check_cause(page, "key-stuck", {"key cust-7: 2 events wait for a failed event", "told to fail"});
}

TEST_CASE("the overview names a crash loop, and the log line that has its cause") {
  PageFixture page;
  page.admin.fixture.set("crash_type", "Bad");
  page.admin.config.handlers[0].more = {"max_crashes: 20", "lease: 2s"};
  page.start();
  produce_keyed(page, {{"a", "Bad"}});
  for (int i = 0; i < 4; ++i) {
    page.daemon->process().wait();
    page.daemon = std::make_unique<DaemonProcess>(page.admin.config);
  }
  page.daemon->process().wait();
  page.admin.fixture.set("crash_type", "None");  // the page's own daemon stays
  page.start();
  check_cause(page, "crash-loop", {"has crashed 5 times within", "kind=daemon.crashed"});
}

TEST_CASE("the overview says that two daemons have different configurations") {
  PageFixture page{2};
  page.start();
  auto other = page.admin.config;
  other.sections["admin"] = "listen: off";
  other.handlers[0].more = {"retry: {max_attempts: 3}"};
  DaemonProcess second{other};
  second.wait_ready();
  check_cause(page, "two-deployments", {"The live daemons have different configurations of their handlers"});
}

TEST_CASE("the overview names the topic whose records go to quarantine, and the reason") {
  PageFixture page;
  page.admin.config.topics = {"{name: " + page.admin.topic + "}"};
  page.start();
  page.admin.fixture.kafka.produce(std::vector<Message>(
      3, Message{.topic = page.admin.topic, .payload = "{\"n\": 1}", .partition = 0}));
  page.admin.database.wait_for("they are in quarantine", "select count(*) from inbox.quarantine", 3);
  check_cause(page, "quarantine", {"records of topic " + page.admin.topic + " went to quarantine since", "no_id"});
}

TEST_CASE("the overview says that the brokers are away") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  PageFixture page;
  page.admin.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  page.start();
  page.admin.fixture.produce(10);
  CHECK(page.admin.fixture.wait_done().is_perfect());
  proxy.refuse(true);
  proxy.cut();
  check_cause(page, "brokers-away", {"the brokers do not answer"});
  proxy.refuse(false);
}

TEST_CASE("the page says that the database is away") {
  PrivatePostgres server;
  PageFixture page{1, "", server.url()};
  page.start();
  page.open();
  server.stop();
  page.admin.database.session().close();
  const auto begin = std::chrono::steady_clock::now();
  page.browser.wait_text("not reached");
  page.browser.wait_for("document.querySelector('#notice .error')");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "incident database-away: " << took.count() << " s from its stop to its cause\n";
  page.browser.screenshots("incident-database-away");
  server.start();
}

TEST_CASE("the overview says that the database's disk is full") {
  PageFixture page;
  page.start();
  page.admin.database.run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin raise exception "
      "'could not extend file: no space left on device' using errcode = 'disk_full'; end $$; "
      "create trigger refused before insert on inbox.event for each row execute function inbox.refuse()");
  page.admin.fixture.produce(10);
  check_cause(page, "disk-full", {"the database is out of disk space", "could not extend file"});
  page.admin.database.run("drop trigger refused on inbox.event");
  CHECK(page.admin.fixture.wait_done().is_perfect());
}

TEST_CASE("the overview says that a topic was created again, and offers to accept it") {
  PageFixture page;
  page.recreate_topic(1);
  check_cause(page, "topic-recreated", {page.admin.topic + "/0 is halted", "created again", "Accept the new topic…"});
  page.browser.click_text("Accept the new topic…");
  confirm(page, "Accept the new topic");
  CHECK(page.admin.fixture.wait_done().is_perfect());
}

TEST_CASE("the overview says that messages of the outbox cannot be sent") {
  PageFixture page;
  page.start();
  page.admin.database.run("select inbox.publish($1, 'k', '{}'::jsonb)", {random_name("unknown")});
  check_cause(page, "outbox-stopped", {"1 message of the outbox cannot be sent", "mend the topic"});
}

TEST_CASE("the overview says why lag grows: a stranger in the group has the partitions") {
  PageFixture page{4};
  page.start();
  Database elsewhere;
  ConfigText foreign = page.admin.config;
  foreign.url = elsewhere.url();
  foreign.schema = elsewhere.schema();
  foreign.kafka["client.id"] = "stranger";
  foreign.sections["admin"] = "listen: off";
  DaemonProcess other{foreign};
  other.wait_ready();
  auto& fixture = page.admin.fixture;
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  fixture.produce(400);
  page.admin.database.wait_for("two partitions have a foreign member",
                               "select count(*) from inbox.reading where member like 'stranger at %' and "
                               "position < high_watermark", 2);
  page.admin.database.run("update inbox.reading set moved_at = moved_at - interval '1 minute'");
  check_cause(page, "lag-grows", {"the group has assigned them to stranger at", "lag"});
  other.stop();
  CHECK(fixture.wait_done().is_perfect());
}
