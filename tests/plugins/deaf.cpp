// Sees that it is cancelled and goes on all the same: writes the file `seen`, then works until the file `release` is
// there, and only then says done.
#include <inboxd/handler.hpp>

#include <fstream>
#include <thread>

namespace {

struct Deaf : inboxd::Handler {
  explicit Deaf(const inboxd::Settings& settings) : seen{settings.text("seen")}, release{settings.text("release")} {}

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

INBOXD_HANDLER(Deaf, "deaf", "1.0")
