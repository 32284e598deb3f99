#pragma once
#include <atomic>
#include <string>
#include <thread>

namespace inboxd::bench {

/// YAML for `admin:` with that port.
std::string admin_at(int port);

/// The HTTP status; 0 if there was no answer.
int status_of(int port, const std::string& target);

/// Waits until the daemon at that port is ready; throws after half a minute.
void wait_ready(int port);

/// Requests the metrics once per second while it lives, as Prometheus does.
class Scraper final {
 public:
  explicit Scraper(int port);
  ~Scraper();
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

 private:
  void run(int port);

  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace inboxd::bench
