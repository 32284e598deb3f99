#include "snapshot.hpp"

#include <algorithm>
#include <span>

namespace inboxd::bench {
namespace {

/// Rare enough to cost the load nothing.
constexpr std::chrono::milliseconds between_claims{250};

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

ClaimCost median_of(std::span<const ClaimCost> costs) {
  std::vector<double> buffers, milliseconds;
  for (const ClaimCost& cost : costs) {
    buffers.push_back(static_cast<double>(cost.buffers));
    milliseconds.push_back(cost.milliseconds);
  }
  return {static_cast<std::int64_t>(median(buffers)), median(milliseconds)};
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

void end_goal(Report& report, const std::string& what, double end, double begin) {
  const double times = end / std::max(begin, 0.001);
  report.goal(what + " at the end", fixed(times, 2) + " of the begin", "<= 1.10", times <= 1.1);
}

void ClaimSampler::start() {
  thread_ = std::jthread{[this](const std::stop_token& stop) {
    const auto until = std::chrono::steady_clock::now() + time_;
    do {
      costs_.push_back(cost_of_claim(session_));
      std::this_thread::sleep_for(between_claims);
    } while (!stop.stop_requested() && std::chrono::steady_clock::now() < until);
  }};
}

void ClaimSampler::finish() {
  thread_.request_stop();
  thread_.join();
}

void ClaimSampler::show(const std::string& load, Report& report) const {
  const std::span<const ClaimCost> all{costs_};
  const auto part = std::max(std::size_t{1}, static_cast<std::size_t>(static_cast<double>(all.size()) * compared));
  const ClaimCost begin = median_of(all.first(part)), end = median_of(all.last(part));
  report.note("one claim of " + std::to_string(all.size()) + ", medians: " + begin.text() +
              " in the first three tenths, " + end.text() + " in the last three");
  end_goal(report, load + ": what one claim reads", static_cast<double>(end.buffers),
           static_cast<double>(begin.buffers));
  end_goal(report, load + ": how long it takes", end.milliseconds, begin.milliseconds);
}

}  // namespace inboxd::bench
