#include "process/support/numbered_producer.hpp"

#include <cstdio>
#include <utility>

namespace inboxd::support {
namespace {

constexpr std::int64_t burst = 40;
constexpr milliseconds pause{20};
constexpr std::int64_t sent_twice = 20;

}  // namespace

std::string id_of(std::int64_t number) {
  char text[37] = {};
  std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012llx", static_cast<unsigned long long>(number));
  return text;
}

std::vector<Message> events_of(const std::string& topic, std::int64_t first, std::int64_t count) {
  std::vector<Message> out;
  for (std::int64_t number = first; number < first + count; ++number) {
    out.push_back(event_message(topic, id_of(number), "{\"number\": " + std::to_string(number) + "}"));
  }
  return out;
}

NumberedProducer::NumberedProducer(std::string topic) : topic_{std::move(topic)}, thread_{[this] { run(); }} {}

NumberedProducer::~NumberedProducer() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

std::int64_t NumberedProducer::stop() {
  stopping_ = true;
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
  return produced_;
}

void NumberedProducer::run() {
  try {
    Kafka kafka;
    while (!stopping_) {
      auto messages = events_of(topic_, produced_, burst);
      for (std::int64_t again = 0; again < burst; again += sent_twice) {
        messages.push_back(messages[static_cast<std::size_t>(again)]);
      }
      kafka.produce(messages);
      produced_ += burst;
      std::this_thread::sleep_for(pause);  // sets the rate
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
}

}  // namespace inboxd::support
