// A handler in one page: writes a line per order into a file. Orders with a slow card fail twice and then succeed.
// An order with a refused card always fails and ends as a dead letter.
#include <inboxd/handler.hpp>

#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace {

class Bookkeeper : public inboxd::Handler {
 public:
  explicit Bookkeeper(const inboxd::Settings& settings) : book_{settings.text("book"), std::ios::app} {
    if (!book_) throw inboxd::SettingsError{"book: the file cannot be written"};
  }

  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event& event) override {
    const std::string_view order = event.payload().value_or("");
    if (order.find("\"card\":\"refused\"") != std::string_view::npos) {
      return inboxd::retry("the bank refuses this card", "bank.refused");
    }
    if (order.find("\"card\":\"slow\"") != std::string_view::npos && event.attempt() <= 2) {
      return inboxd::retry("the bank did not answer in time", "bank.timeout");
    }
    const std::lock_guard lock{mutex_};
    book_ << event.id() << ' ' << event.type() << ' ' << order << std::endl;
    return inboxd::done();
  }

 private:
  std::mutex mutex_;  // several calls run at once on this object
  std::ofstream book_;
};

}  // namespace

INBOXD_HANDLER(Bookkeeper, "bookkeeper", "1.0")
