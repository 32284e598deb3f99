#include "base/journal.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/logger.hpp"

using namespace inboxd::base;

namespace {

/// Stands in for journald: receives as many datagrams as the kernel queues.
class FakeJournal final {
 public:
  FakeJournal() {
    static int number = 0;
    path = std::filesystem::temp_directory_path() /
           ("inboxd-journal-" + std::to_string(::getpid()) + "-" + std::to_string(++number));
    listen();
  }
  ~FakeJournal() { close(); }
  FakeJournal(const FakeJournal&) = delete;
  FakeJournal& operator=(const FakeJournal&) = delete;

  void listen() {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  void close() {
    ::close(socket_);
    std::filesystem::remove(path);
  }
  /// The next entry's bytes; empty: none.
  std::string entry() const {
    std::string out(300'000, '\0');
    const auto size = ::recv(socket_, out.data(), out.size(), 0);
    out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return out;
  }
  std::map<std::string, std::string> fields() const {
    std::map<std::string, std::string> out;
    std::istringstream lines{entry()};
    for (std::string line; std::getline(lines, line);) {
      const auto at = line.find('=');
      REQUIRE(at != std::string::npos);
      REQUIRE(out.emplace(line.substr(0, at), line.substr(at + 1)).second);
    }
    return out;
  }

  std::string path;

 private:
  int socket_ = -1;
};

}  // namespace

TEST_CASE("the journal gets each fact as a field, and an id for each kind of line") {
  const FakeJournal journal;
  Logger log{LogLevel::info, LogFormat::journal, journal.path};
  log.warn("dispatcher.late", {{"event_id", "0190-7"}, {"handler", "mail"}, {"topic", "orders"}, {"partition", 3}});
  const auto first = journal.fields();
  CHECK(first.at("MESSAGE") ==
        "dispatcher.late event_id=0190-7 handler=mail topic=orders partition=3 kind=dispatcher.late");
  CHECK(first.at("KIND") == "dispatcher.late");
  CHECK(first.at("PRIORITY") == "4");
  CHECK(first.at("SYSLOG_IDENTIFIER") == "inboxd");
  CHECK(first.at("EVENT_ID") == "0190-7");
  CHECK(first.at("HANDLER") == "mail");
  CHECK(first.at("TOPIC") == "orders");
  CHECK(first.at("PARTITION") == "3");
  CHECK(first.at("MESSAGE_ID").size() == 32);
  CHECK(first.at("MESSAGE_ID").find_first_not_of("0123456789abcdef") == std::string::npos);

  log.warn("dispatcher.late", {{"event_id", "0190-8"}});
  CHECK(journal.fields().at("MESSAGE_ID") == first.at("MESSAGE_ID"));
  log.warn("dispatcher.later");
  CHECK(journal.fields().at("MESSAGE_ID") != first.at("MESSAGE_ID"));
  log.write(LogLevel::info, "handler: its own words", {}, "handler.log");
  const auto own = journal.fields();
  log.write(LogLevel::info, "handler: other words", {}, "handler.log");
  CHECK(journal.fields().at("MESSAGE_ID") == own.at("MESSAGE_ID"));
  log.debug("not wanted");
  CHECK(journal.entry().empty());
}

TEST_CASE("a line's id in the journal is the id that config/messages.md names") {
  std::ifstream file{"config/messages.md"};
  std::string line;
  int rows = 0;
  const FakeJournal journal;
  Logger log{LogLevel::info, LogFormat::journal, journal.path};
  while (std::getline(file, line)) {
    const std::string before = "| error | `", after = "` |";
    if (!line.starts_with(before)) continue;
    const std::string slug = line.substr(before.size(), line.find(after) - before.size());
    log.error(slug);
    CHECK(journal.fields().at("MESSAGE_ID") == line.substr(line.rfind(after) - 32, 32));
    ++rows;
  }
  CHECK(rows > 10);
}

TEST_CASE("a record cannot forge a field of the journal, or use a field of journald's own") {
  const FakeJournal journal;
  Logger log{LogLevel::info, LogFormat::journal, journal.path};
  log.error("odd", {{"key", "x\nPRIORITY=0\n_UID=0"}, {"message", "mine"}, {"bytes", std::string{"\xff\0z", 3}}});
  const auto fields = journal.fields();
  CHECK(fields.at("KEY") == "x\\nPRIORITY=0\\n_UID=0");
  CHECK(fields.at("PRIORITY") == "3");
  CHECK(fields.at("INBOXD_MESSAGE") == "mine");
  CHECK(fields.at("BYTES") == "\\xff\\x00z");
  CHECK_FALSE(fields.contains("_UID"));
}

TEST_CASE("a line of a megabyte is cut, not lost") {
  const FakeJournal journal;
  Logger log{LogLevel::info, LogFormat::journal, journal.path};
  log.error("odd", {{"reason", std::string(1 << 20, 'r')}});
  const auto fields = journal.fields();
  CHECK(fields.at("REASON").size() < 20'000);
  CHECK(fields.at("MESSAGE").starts_with("odd reason=rrr"));
  CHECK(log.lost() == 0);
}

TEST_CASE("a stalled journal delays a line and loses others; a restarted journal gets lines again") {
  FakeJournal journal;
  Logger log{LogLevel::info, LogFormat::journal, journal.path};
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 5'000; ++i) log.info("flood", {{"number", i}});
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{30});
  CHECK(log.lost() > 0);
  std::uint64_t taken = 0;
  while (!journal.entry().empty()) ++taken;
  CHECK(taken + log.lost() == 5'000);

  log.info("works_again");
  CHECK(journal.fields().at("MESSAGE") == "works_again kind=works_again");
  journal.close();
  journal.listen();  // a restart
  log.info("again");
  CHECK(journal.fields().at("MESSAGE") == "again kind=again");
}
