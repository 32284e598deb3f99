// The benchmark's handler: a no-op that returns done. Settings:
//   failures     failed attempts per event before it is done (default 0)
//   takes        how long each call takes (default 0ms)
//   fail_one_in  n: fail only every nth offset (default 1: all)
//   holds_after  n: calls after the first n wait until they are cancelled (default 0: none)
//   file         written at the end: microseconds from sending to the first call of each event, as unsigned 32-bit
//                numbers, in the order of the calls
#include <inboxd/handler.hpp>

#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

namespace {

constexpr std::string_view sent_field = R"({"sent":)";

/// Nanoseconds since 1970 at the start of the payload; 0 if there are none.
std::int64_t time_of_sending(std::string_view payload) {
  if (payload.substr(0, sent_field.size()) != sent_field) return 0;
  std::int64_t value = 0;
  for (const char c : payload.substr(sent_field.size())) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return value;
}

class BenchHandler final : public inboxd::Handler {
 public:
  explicit BenchHandler(const inboxd::Settings& settings)
      : failures_{settings.number("failures", 0)},
        fail_one_in_{std::max<std::int64_t>(settings.number("fail_one_in", 1), 1)},
        holds_after_{settings.number("holds_after", 0)},
        takes_{settings.duration("takes", inboxd::Milliseconds{0})},
        file_{settings.text("file", "")} {}

  ~BenchHandler() override {
    if (file_.empty()) return;
    std::ofstream out{file_, std::ios::binary};
    out.write(reinterpret_cast<const char*>(microseconds_.data()),
              static_cast<std::streamsize>(microseconds_.size() * sizeof(std::uint32_t)));
  }

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
    if (holds_after_ > 0 && ++calls_ > holds_after_) {
      while (!call.is_cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds{20});
      return inboxd::retry("held", "bench");
    }
    if (takes_.count() > 0) std::this_thread::sleep_for(takes_);
    if (!file_.empty() && event.attempt() == 1) note(event);
    if (event.attempt() <= failures_ && event.offset() % fail_one_in_ == 0) return inboxd::retry("on purpose", "bench");
    return inboxd::done();
  }

 private:
  void note(const inboxd::Event& event) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t sent = time_of_sending(event.payload().value_or(""));
    if (sent == 0) return;
    const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - sent;
    const std::lock_guard lock{mutex_};
    microseconds_.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(passed / 1000, 0)));
  }

  const std::int64_t failures_;
  const std::int64_t fail_one_in_;
  const std::int64_t holds_after_;
  std::atomic<std::int64_t> calls_{0};
  const inboxd::Milliseconds takes_;
  const std::string file_;
  std::mutex mutex_;
  std::vector<std::uint32_t> microseconds_;
};

}  // namespace

INBOXD_HANDLER(BenchHandler, "bench", "1.0")
