#include "process/support/load.hpp"

#include <stdexcept>

#include "support/environment.hpp"

namespace inboxd::support {
namespace {

constexpr milliseconds portion_every{50};

}  // namespace

Load::Load(Stage& stage, int events_per_second) : stage_{stage}, run_{random_name("").substr(1, 8)} {
  thread_ = std::thread{[this, events_per_second] { run(events_per_second); }};
}

Load::~Load() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Load::finish() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  stage_.note(ids_);
  ids_.clear();
  if (!failure_.empty()) throw std::runtime_error{failure_};
}

void Load::wait_for_more(std::int64_t events) {
  const std::int64_t wanted = produced_ + events;
  wait_until("more is produced", [&] { return produced_ >= wanted || !failure_.empty(); });
}

void Load::run(int events_per_second) {
  const auto each = static_cast<int>(events_per_second * portion_every.count() / 1000) + 1;
  try {
    while (!stopping_) {
      const auto next = std::chrono::steady_clock::now() + portion_every;
      std::vector<Message> messages;
      for (int i = 0; i < each; ++i) {
        std::string digits = std::to_string(100'000'000'000 + static_cast<std::int64_t>(ids_.size()));
        ids_.push_back(run_ + "-0000-4000-9000-" + digits);
        messages.push_back(event_message(stage_.topic, ids_.back()));
      }
      kafka_.produce(messages);
      produced_ += each;
      std::this_thread::sleep_until(next);
    }
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

OffsetsWatch::OffsetsWatch(const Stage& stage)
    : session_{stage.database.url(), stage.database.schema()}, group_{stage.config.group}, topic_{stage.topic} {
  thread_ = std::thread{[this] { run(); }};
}

OffsetsWatch::~OffsetsWatch() {
  stopping_ = true;
  thread_.join();
}

void OffsetsWatch::run() {
  while (!stopping_) {
    try {
      // The offset first: the position only grows.
      for (const auto& [partition, offset] : kafka_.committed(group_, topic_)) {
        const auto position = session_.number("select position from inbox.lag where topic = $1 and partition = $2",
                                              {topic_, std::to_string(partition)});
        if (offset > position) ++ahead_;
      }
      ++looks_;
    } catch (const std::runtime_error&) {
      session_.close();  // the database is away: looked at again, over a new session
    }
    std::this_thread::sleep_for(milliseconds{20});
  }
}

}  // namespace inboxd::support
