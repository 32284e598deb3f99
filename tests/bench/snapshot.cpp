#include "snapshot.hpp"

#include <algorithm>
#include <vector>

#include "report.hpp"

namespace inboxd::bench {
namespace {

constexpr int samples = 25;
constexpr std::chrono::milliseconds pause{100};

/// What one claim that finds nothing costs now, with the low-water mark that a running daemon would have.
ClaimCost cost_of_claim(Session& session) {
  session.run("begin");
  const auto lines = session.column(
      "explain (analyze, buffers, timing off) select * from inbox.claim((select min(handler_id) from inbox.handler),"
      " gen_random_uuid(), 1, interval '30 s', 1000, 16, clock_timestamp() - interval '10 s')");
  session.run("rollback");
  ClaimCost out;
  for (const std::string& line : lines) {
    if (const auto at = line.find("shared hit="); at != std::string::npos && out.buffers == 0) {
      out.buffers = std::stoll(line.substr(at + 11));
    }
    if (const auto at = line.find("Execution Time: "); at != std::string::npos) {
      out.milliseconds = std::stod(line.substr(at + 16));
    }
  }
  return out;
}

}  // namespace

OldSnapshot::OldSnapshot(const std::string& url) : session_{url} {
  session_.run("begin isolation level repeatable read; select count(*) from pg_class");
}

DaemonSettings with_some_retries(const std::string& database_url, const std::string& topic) {
  DaemonSettings out;
  out.database_url = database_url;
  out.topic = topic;
  out.handler_keys += ", retry: {backoff: fixed, base: 1s}";
  out.handler_settings = "{failures: 1, fail_one_in: 1000}";
  return out;
}

std::string each_tenth(const std::function<std::string(double from, double to)>& told) {
  std::string out;
  for (int i = 0; i < 10; ++i) out += (i == 0 ? "" : " ") + told(i / 10.0, (i + 1) / 10.0);
  return out;
}

double rate_between(Session& session, double from, double to) {
  const std::string bounds =
      "with span as (select min(finished_at) as first, max(finished_at) - min(finished_at) as length from "
      "inbox.outcome)"
      " select coalesce(sum(upper(r) - lower(r)), 0)::float8 / greatest(extract(epoch from max(length)) * " +
      std::to_string(to - from) +
      ", 0.001) from span, inbox.outcome, unnest(offsets) r where finished_at >= first + length * " +
      std::to_string(from) + " and finished_at <= first + length * " + std::to_string(to);
  return session.real(bounds);
}

std::string ClaimCost::text() const { return std::to_string(buffers) + " buffers, " + fixed(milliseconds, 2) + " ms"; }

void ClaimSampler::start() {
  thread_ = std::jthread{[this](const std::stop_token& stop) {
    const auto began = std::chrono::steady_clock::now();
    begin = sample(began + time_ * 3 / 20, stop);
    end = sample(began + time_ * 18 / 20, stop);
  }};
}

void ClaimSampler::finish() {
  thread_.request_stop();
  thread_.join();
}

ClaimCost ClaimSampler::sample(std::chrono::steady_clock::time_point when, const std::stop_token& stop) {
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < when) std::this_thread::sleep_for(pause);
  std::vector<double> buffers, milliseconds;
  for (int i = 0; i < samples; ++i) {
    const ClaimCost cost = cost_of_claim(session_);
    buffers.push_back(static_cast<double>(cost.buffers));
    milliseconds.push_back(cost.milliseconds);
    std::this_thread::sleep_for(pause);
  }
  return {static_cast<std::int64_t>(median(buffers)), *std::min_element(milliseconds.begin(), milliseconds.end())};
}

}  // namespace inboxd::bench
