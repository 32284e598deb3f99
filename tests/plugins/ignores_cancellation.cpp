// Ignores its cancellation: writes the file `seen`, works until the file `release` exists, then returns done.
#include <fstream>
#include <inboxd/handler.hpp>
#include <thread>

namespace {

struct IgnoresCancellation : inboxd::Handler {
  explicit IgnoresCancellation(const inboxd::Settings& settings)
      : seen{settings.text("seen")}, release{settings.text("release")} {}

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event&) override {
    while (!call.is_cancelled()) rest();
    std::ofstream{seen}.put('\n');
    while (!std::ifstream{release}) rest();
    return inboxd::done();
  }

  static void rest() { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }

  std::string seen;
  std::string release;
};

}  // namespace

INBOXD_HANDLER(IgnoresCancellation, "ignores_cancellation", "1.0")
