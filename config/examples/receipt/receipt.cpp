// Writes a receipt for each order: a file in the setting `folder`, named after the event.
//
// An event can come twice (a crash between the effect and its "done"), so the effect must be idempotent. The file
// is named after the event id. It is written under another name and renamed, so readers never see half a receipt.
#include <inboxd/handler.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

std::string text_of(const inboxd::Event& event) {
  std::string text = "Receipt " + event.id() + "\n";
  text.append("Order   ").append(*event.key()).append("\n");
  text.append("Event   ").append(event.type()).append("\n\n");
  text.append(*event.payload()).append("\n");
  return text;
}

class Receipt : public inboxd::Handler {
 public:
  explicit Receipt(const inboxd::Settings& settings) : log_{settings.log()}, folder_{settings.text("folder")} {
    if (!fs::is_directory(folder_)) {
      throw inboxd::SettingsError{"setting 'folder' is '" + folder_.string() + "'; it must be a folder that exists"};
    }
  }

  ~Receipt() override { log_.info("receipt: wrote " + std::to_string(written_) + " receipts"); }

  // Runs on several threads at once. The atomic counter is the only state that changes.
  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event& event) override {
    if (!event.payload()) return inboxd::done();  // a tombstone: the order was removed
    if (!event.key()) return inboxd::dead("an order needs its number as the key", "validation.key");

    const fs::path aside = folder_ / ("." + event.id() + "." + std::to_string(event.attempt()));
    std::ofstream file{aside, std::ios::binary};
    file << text_of(event) << std::flush;
    file.close();
    std::error_code error;
    if (!file) {
      fs::remove(aside, error);
      return inboxd::retry(30s, "cannot write " + aside.string() + "; is the disk full?", "receipt.write");
    }
    fs::rename(aside, folder_ / (event.id() + ".txt"), error);
    if (error) return inboxd::retry("cannot rename " + aside.string() + ": " + error.message(), "receipt.rename");
    ++written_;
    return inboxd::done();
  }

 private:
  inboxd::Log log_;
  fs::path folder_;
  std::atomic<long> written_{0};
};

}  // namespace

INBOXD_HANDLER(Receipt, "receipt", "1.0")
