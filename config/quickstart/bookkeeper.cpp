// A handler in one page: writes a line for every order into a file. Some customers' banks are slow (their orders fail
// twice and then succeed), and one customer's card is never accepted (that order ends as a dead letter).
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
  std::mutex mutex_;  // several calls run at once on this one object
  std::ofstream book_;
};

}  // namespace

INBOXD_HANDLER(Bookkeeper, "bookkeeper", "1.0")
