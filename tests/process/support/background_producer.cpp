#include "process/support/background_producer.hpp"

#include <stdexcept>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

constexpr milliseconds portion_interval{50};

}  // namespace

BackgroundProducer::BackgroundProducer(DaemonFixture& fixture, int events_per_second)
    : fixture_{fixture}, run_{random_name("").substr(1, 8)} {
  thread_ = std::thread{[this, events_per_second] { run(events_per_second); }};
}

BackgroundProducer::~BackgroundProducer() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void BackgroundProducer::finish() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  fixture_.note(ids_);
  ids_.clear();
  if (!failure_.empty()) throw std::runtime_error{failure_};
}

void BackgroundProducer::wait_for_more(std::int64_t events) {
  const std::int64_t wanted = produced_ + events;
  wait_until("more is produced", [&] { return produced_ >= wanted || !failure_.empty(); });
}

void BackgroundProducer::run(int events_per_second) {
  const auto each = static_cast<int>(events_per_second * portion_interval.count() / 1000) + 1;
  try {
    while (!stopping_) {
      const auto next = std::chrono::steady_clock::now() + portion_interval;
      std::vector<Message> messages;
      for (int i = 0; i < each; ++i) {
        std::string digits = std::to_string(100'000'000'000 + static_cast<std::int64_t>(ids_.size()));
        ids_.push_back(run_ + "-0000-4000-9000-" + digits);
        messages.push_back(event_message(fixture_.topic, ids_.back()));
      }
      kafka_.produce(messages);
      produced_ += each;
      std::this_thread::sleep_until(next);
    }
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

}  // namespace inboxd::support
