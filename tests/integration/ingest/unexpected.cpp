// What nobody foresaw, met by an ingester that reads from a real broker.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <optional>
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

enum class Breaks { before_commit, after_commit };

/// Takes everything in hand, but breaks the first time: before anything is stored (and so does what tidies up after
/// that, which nothing below the ingester's own loop catches), or when what is stored is to be handed over.
class Breaking final : public consumer::HandOff {
 public:
  explicit Breaking(Breaks when) : when_{when} {}

  Room reserve(std::int32_t, std::int64_t events, std::size_t) override {
    if (when_ == Breaks::before_commit && ++calls_ == 2) throw std::runtime_error{"reserve"};
    reserved += events;
    return {events, milliseconds{30'000}, 0};
  }
  void hand_over(inbox::LeasedRun run, std::int64_t events) override {
    reserved -= events;
    if (when_ == Breaks::after_commit && !broke.exchange(true)) throw std::runtime_error{"hand_over"};
    taken += static_cast<int>(run.events.size());
  }
  void release(std::int32_t, std::int64_t events) override {
    reserved -= events;
    if (when_ == Breaks::before_commit && !broke.exchange(true)) throw std::runtime_error{"release"};
  }
  void born_due(std::int32_t) override { told_of_due = true; }

  std::atomic<bool> broke{false}, told_of_due{false};
  std::atomic<int> taken{0};
  std::atomic<std::int64_t> reserved{0};

 private:
  const Breaks when_;
  int calls_ = 0;
};

/// A consumer of a topic, for two handlers.
struct Reading {
  explicit Reading(Breaks when) : hand_off{when} {
    settings.database = inbox.settings();
    settings.kafka.brokers = kafka.brokers();
    settings.kafka.group = "group-of-" + topic;
    config::Topic& orders = settings.topics.emplace_back();
    orders.name = topic;
    orders.start = Inbox::beginning();
    registrations.set(
        inbox::register_handlers(inbox.connection(), {handler_named("receipt"), handler_named("ledger")}));
    consumer.emplace(settings, inbox.owner, registrations, hand_off, watchdog, log);
  }
  void produce(int from, int to) {
    std::vector<Message> messages;
    for (int i = from; i < to; ++i) messages.push_back(event_message(topic, "event-" + std::to_string(i)));
    kafka.produce(messages);
  }
  std::int64_t events() { return inbox.database().number("select count(*) from inbox.event"); }

  Inbox inbox;
  Kafka kafka;
  const std::string topic = kafka.create_topic();
  config::Settings settings;
  inbox::Registrations registrations;
  Breaking hand_off;
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  std::optional<consumer::Consumer> consumer;
};

}  // namespace

TEST_CASE("an ingester that met something unexpected reads on from the positions") {
  Reading reading{Breaks::before_commit};
  reading.produce(0, 10);
  REQUIRE_FALSE(reading.consumer->start());
  REQUIRE(eventually([&] { return reading.hand_off.broke.load(); }));
  CHECK(reading.events() == 0);
  reading.produce(10, 20);
  CHECK(eventually([&] { return reading.hand_off.taken == 40; }));
  CHECK(reading.inbox.position(reading.topic) == 20);
  CHECK(reading.events() == 20);
  CHECK(reading.inbox.outstanding() == 40);
  CHECK(reading.hand_off.reserved == 0);
}

TEST_CASE("what is stored and could not be taken in hand is due at once, and no room is lost with it") {
  Reading reading{Breaks::after_commit};
  reading.produce(0, 10);
  REQUIRE_FALSE(reading.consumer->start());
  REQUIRE(eventually([&] { return reading.hand_off.told_of_due.load(); }));
  const auto leased = [&] {
    return reading.inbox.database().number(
        "select sum(events) from inbox.delivery where owner is not null and due_at > clock_timestamp()");
  };
  CHECK(reading.inbox.outstanding() == 2 * reading.events());
  CHECK(leased() == reading.hand_off.taken);
  CHECK(reading.inbox.database().number("select count(*) from inbox.delivery where owner is null and claims = 0 and "
                                        "due_at <= clock_timestamp()") == 1);
  reading.produce(10, 20);
  CHECK(eventually([&] { return reading.events() == 20; }));
  CHECK(eventually([&] { return leased() == reading.hand_off.taken; }));
  CHECK(eventually([&] { return reading.hand_off.reserved == 0; }));
}
