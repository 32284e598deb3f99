// What nobody foresaw, met by an ingester that reads from a real broker.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "consumer/consumer.hpp"
#include "inbox/registrations.hpp"
#include "integration/support/inbox.hpp"
#include "support/kafka.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Takes everything in hand. The first time it breaks before anything is stored, and so does what tidies up after that,
/// which nothing below the ingester's own loop catches.
class Breaking final : public consumer::HandOff {
 public:
  Room reserve(std::int32_t, std::int64_t events, std::size_t) override {
    if (++reserved == 2) throw std::runtime_error{"reserve"};
    return {events, milliseconds{30'000}, 0};
  }
  void hand_over(inbox::LeasedRun run, std::int64_t) override { taken += static_cast<int>(run.events.size()); }
  void release(std::int32_t, std::int64_t) override {
    if (!broke.exchange(true)) throw std::runtime_error{"release"};
  }
  void born_due(std::int32_t) override {}

  std::atomic<bool> broke{false};
  std::atomic<int> taken{0};
  std::atomic<int> reserved{0};
};

void produce(Kafka& kafka, const std::string& topic, int from, int to) {
  std::vector<Message> messages;
  for (int i = from; i < to; ++i) messages.push_back(event_message(topic, "event-" + std::to_string(i)));
  kafka.produce(messages);
}

}  // namespace

TEST_CASE("an ingester that met something unexpected reads on from the positions") {
  Inbox inbox;
  Kafka kafka;
  const std::string topic = kafka.create_topic();
  config::Settings settings;
  settings.database = inbox.settings();
  settings.kafka.brokers = kafka.brokers();
  settings.kafka.group = "group-of-" + topic;
  config::Topic& orders = settings.topics.emplace_back();
  orders.name = topic;
  orders.start = Inbox::beginning();
  inbox::Registrations registrations;
  registrations.set(inbox::register_handlers(inbox.connection(), {handler_named("receipt"), handler_named("ledger")}));
  Breaking hand_off;
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  consumer::Consumer consumer{settings, inbox.owner, registrations, hand_off, watchdog, log};
  produce(kafka, topic, 0, 10);
  REQUIRE_FALSE(consumer.start());

  REQUIRE(eventually([&] { return hand_off.broke.load(); }));
  CHECK(inbox.database().number("select count(*) from inbox.event") == 0);
  produce(kafka, topic, 10, 20);
  CHECK(eventually([&] { return hand_off.taken == 40; }));
  CHECK(inbox.position(topic) == 20);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 20);
  CHECK(inbox.outstanding() == 40);
}
