// The handler that the benchmark loads. Setting `mode`:
//   nothing  says done at once (default)
//   fail     says retry until an event was tried `failures` times
//   latency  says done and notes how long ago the record was sent; the microseconds go to `file` at the end, one
//            unsigned 32-bit number each
#include <inboxd/handler.hpp>

#include <fstream>
#include <mutex>

namespace {

constexpr std::string_view sent_field = R"({"sent":)";

/// The nanoseconds since 1970 that the payload begins with; 0 where there are none.
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
      : mode_{settings.text("mode", "nothing")}, failures_{settings.number("failures", 0)},
        file_{settings.text("file", "")} {}

  ~BenchHandler() override {
    if (file_.empty()) return;
    std::ofstream out{file_, std::ios::binary};
    out.write(reinterpret_cast<const char*>(microseconds_.data()),
              static_cast<std::streamsize>(microseconds_.size() * sizeof(std::uint32_t)));
  }

  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event& event) override {
    if (mode_ == "fail" && event.attempt() <= failures_) return inboxd::retry("on purpose", "bench");
    if (mode_ == "latency") note(event);
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

  const std::string mode_;
  const std::int64_t failures_;
  const std::string file_;
  std::mutex mutex_;
  std::vector<std::uint32_t> microseconds_;
};

}  // namespace

INBOXD_HANDLER(BenchHandler, "bench", "1.0")
