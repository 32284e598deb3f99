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

enum class FailurePoint { before_commit, after_commit };

/// Accepts all runs but throws once: before the transaction (and again in the cleanup, which only the ingester's loop
/// catches), or when stored runs are handed over.
class FailingHandOff final : public consumer::HandOff {
 public:
  explicit FailingHandOff(FailurePoint when) : when_{when} {}

  Reservation reserve(std::int32_t, std::int64_t events, std::size_t) override {
    if (when_ == FailurePoint::before_commit && ++calls_ == 2) throw std::runtime_error{"reserve"};
    reserved += events;
    return {events, milliseconds{30'000}, 0};
  }
  void hand_over(inbox::LeasedRun run, std::int64_t events) override {
    reserved -= events;
    if (when_ == FailurePoint::after_commit && !failed.exchange(true)) throw std::runtime_error{"hand_over"};
    handed_over += static_cast<int>(run.events.size());
  }
  void release(std::int32_t, std::int64_t events) override {
    reserved -= events;
    if (when_ == FailurePoint::before_commit && !failed.exchange(true)) throw std::runtime_error{"release"};
  }
  void notify_due(std::int32_t) override { was_notified = true; }

  std::atomic<bool> failed{false}, was_notified{false};
  std::atomic<int> handed_over{0};
  std::atomic<std::int64_t> reserved{0};

 private:
  const FailurePoint when_;
  int calls_ = 0;
};

struct ConsumerFixture {
  explicit ConsumerFixture(FailurePoint when) : hand_off{when} {
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
  FailingHandOff hand_off;
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  std::optional<consumer::Consumer> consumer;
};

}  // namespace

TEST_CASE("an ingester continues at its positions after an unexpected exception") {
  ConsumerFixture reading{FailurePoint::before_commit};
  reading.produce(0, 10);
  REQUIRE_FALSE(reading.consumer->start());
  REQUIRE(eventually([&] { return reading.hand_off.failed.load(); }));
  CHECK(reading.events() == 0);
  reading.produce(10, 20);
  CHECK(eventually([&] { return reading.hand_off.handed_over == 40; }));
  CHECK(reading.inbox.position(reading.topic) == 20);
  CHECK(reading.events() == 20);
  CHECK(reading.inbox.pending_events() == 40);
  CHECK(reading.hand_off.reserved == 0);
}

TEST_CASE("stored events that could not be handed over are due at once, and their reservation is released") {
  ConsumerFixture reading{FailurePoint::after_commit};
  reading.produce(0, 10);
  REQUIRE_FALSE(reading.consumer->start());
  REQUIRE(eventually([&] { return reading.hand_off.was_notified.load(); }));
  const auto leased = [&] {
    return reading.inbox.database().number(
        "select sum(events) from inbox.delivery where owner is not null and due_at > clock_timestamp()");
  };
  CHECK(reading.inbox.pending_events() == 2 * reading.events());
  CHECK(leased() == reading.hand_off.handed_over);
  CHECK(reading.inbox.database().number("select count(*) from inbox.delivery where owner is null and claims = 0 and "
                                        "due_at <= clock_timestamp()") == 1);
  reading.produce(10, 20);
  CHECK(eventually([&] { return reading.events() == 20; }));
  CHECK(eventually([&] { return leased() == reading.hand_off.handed_over; }));
  CHECK(eventually([&] { return reading.hand_off.reserved == 0; }));
}
