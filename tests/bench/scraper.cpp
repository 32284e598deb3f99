#include "scraper.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>

#include "support/http.hpp"

namespace inboxd::bench {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto poll_interval = 2ms;
constexpr auto ready_within = 30s;

}  // namespace

std::string admin_at(int port) { return "{listen: \"127.0.0.1:" + std::to_string(port) + "\"}"; }

int status_of(int port, const std::string& target) {
  try {
    return support::get(port, target).status;
  } catch (const std::exception&) {
    return 0;
  }
}

void wait_ready(int port) {
  const auto began = Clock::now();
  while (status_of(port, "/readyz") != 200) {
    if (Clock::now() - began > ready_within) throw std::runtime_error{"the daemon has not become ready in time"};
    std::this_thread::sleep_for(poll_interval);
  }
}

Scraper::Scraper(int port) : thread_{[this, port] { run(port); }} {}

Scraper::~Scraper() {
  stopping_ = true;
  thread_.join();
}

void Scraper::run(int port) {
  for (auto next = Clock::now(); !stopping_; std::this_thread::sleep_for(20ms)) {
    if (Clock::now() < next) continue;
    next += 1s;
    status_of(port, "/metrics");
  }
}

}  // namespace inboxd::bench
