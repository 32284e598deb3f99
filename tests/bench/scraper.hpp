#pragma once
#include <atomic>
#include <string>
#include <thread>

namespace inboxd::bench {

/// YAML for `admin:` with that port.
std::string admin_at(int port);

/// The status of the admin port's answer; 0: there was none.
int status_of(int port, const std::string& target);

/// Until the daemon at that port says so; throws where it does not within half a minute.
void wait_ready(int port);

/// Prometheus' part: asks for the metrics once a second while it lives.
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
