// Appends each event to a file, a line per write, so that several processes can share it. Then behaves as its settings
// say.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <inboxd/handler.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#ifndef RECORDED_AS
#define RECORDED_AS ""  // prefix of the handler's name
#endif

namespace {

std::int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

class Recorder : public inboxd::Handler {
 public:
  explicit Recorder(const inboxd::Settings& settings)
      : handler_{std::string{RECORDED_AS}.append(settings.handler())},
        file_{open(settings.text("file").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)},
        fail_first_{settings.number("fail_first", 0)},
        fail_type_{settings.text("fail_type", "")},
        dead_type_{settings.text("dead_type", "")},
        skip_type_{settings.text("skip_type", "")},
        crash_type_{settings.text("crash_type", "")},
        slow_type_{settings.text("slow_type", "")},
        hang_type_{settings.text("hang_type", "")},
        takes_{settings.duration("takes", inboxd::Milliseconds{0})},
        takes_type_{settings.text("takes_type", "")},
        gate_{settings.text("gate", "")},
        publishes_{settings.text("publishes", "")} {
    wait_at(settings.text("create_gate", ""));
    if (file_ < 0) throw inboxd::SettingsError{"setting 'file' names a file that cannot be written"};
  }
  ~Recorder() override { close(file_); }

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
    if (publishes_.empty()) {
      note(event, call.traceparent(event).value_or("-"));
    } else {
      publish(call, event);
    }
    if (!crash_type_.empty() && event.type() == crash_type_) std::abort();
    const bool takes_time = takes_.count() > 0 && (takes_type_.empty() || event.type() == takes_type_);
    if (takes_time) std::this_thread::sleep_for(takes_);
    if (!slow_type_.empty() && event.type() == slow_type_) {
      while (!call.is_cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds{5});
      return inboxd::retry("told to be slow", "test.slow");
    }
    while (!hang_type_.empty() && event.type() == hang_type_) std::this_thread::sleep_for(std::chrono::hours{1});
    while (!gate_.empty() && access(gate_.c_str(), F_OK) != 0) {  // held until the test makes the file
      if (call.is_cancelled()) return inboxd::retry("cancelled", "cancelled");
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    if (!dead_type_.empty() && event.type() == dead_type_) return inboxd::dead("told to be dead", "test.dead");
    if (!skip_type_.empty() && event.type() == skip_type_) return inboxd::skipped();
    if (event.attempt() <= failures_of(event.type())) return inboxd::retry("told to fail", "test.failure");
    if (event.attempt() <= fail_first_ || (!fail_type_.empty() && event.type() == fail_type_)) {
      return inboxd::retry("told to fail on attempt " + std::to_string(event.attempt()), "test.failure");
    }
    return inboxd::done();
  }

 private:
  /// Events of type `Fails3` fail three times.
  static int failures_of(std::string_view type) {
    return type.starts_with("Fails") && type.size() == 6 ? type[5] - '0' : 0;
  }

  /// Delays creation until that file exists; `FILE.reached` shows that it waits.
  static void wait_at(const std::string& gate) {
    if (gate.empty()) return;
    close(creat((gate + ".reached").c_str(), 0666));
    while (access(gate.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }

  /// The recording stands for the queue: a line stands for a published message.
  void publish(inboxd::Call& call, const inboxd::Event& event) const {
    inboxd::PublishSpan span = call.publish_span(event, "kafka", publishes_);
    note(event, span.traceparent().value_or("-"));
    if (event.attempt() <= fail_first_) {
      span.failed("test.away");
    } else {
      span.sent();
    }
  }

  void note(const inboxd::Event& event, std::string_view traceparent) const {
    const std::string line = handler_ + " " + event.id() + " " + std::string{event.topic()} + " " +
                             std::to_string(event.partition()) + " " + std::to_string(event.offset()) + " " +
                             std::to_string(event.attempt()) + " " + std::to_string(monotonic_ms()) + " " +
                             std::to_string(getpid()) + " " + std::string{traceparent} + "\n";
    if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::runtime_error{"the recording cannot be written"};
    }
  }

  std::string handler_;
  int file_;
  std::int64_t fail_first_;
  std::string fail_type_;
  std::string dead_type_;
  std::string skip_type_;
  std::string crash_type_;
  std::string slow_type_;  ///< until it is cancelled
  std::string hang_type_;  ///< forever
  inboxd::Milliseconds takes_;
  std::string takes_type_;  ///< only these take time; empty: all
  std::string gate_;
  std::string publishes_;
};

}  // namespace

INBOXD_HANDLER(Recorder, "recorder", "1.0")
