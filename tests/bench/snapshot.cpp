#include "snapshot.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace inboxd::bench {
namespace {

/// A daemon's low-water mark lags by `claim_span`: a claim walks over deliveries that became due since, which were
/// stored a lease earlier.
constexpr std::chrono::seconds claim_span{2};
constexpr std::chrono::seconds lease{30};
constexpr std::chrono::milliseconds between_claims{250};

double execution_time(const std::vector<std::string>& plan) {
  constexpr std::string_view title = "Execution Time: ";
  for (const std::string& line : plan) {
    if (const auto at = line.find(title); at != std::string::npos) return std::stod(line.substr(at + title.size()));
  }
  return 0;
}

/// A query that reads no table and takes about as long as a claim: the machine's speed at this moment.
double time_of_fixed_question(PostgresSession& session) {
  return execution_time(
      session.column("explain (analyze, timing off) select sum(i) from generate_series(1, 10000) g(i)"));
}

/// Cost of a claim that finds nothing, with the low-water mark of a running daemon.
ClaimCost cost_of_claim(PostgresSession& session) {
  ClaimCost out;
  out.fixed_milliseconds = time_of_fixed_question(session);
  session.run("begin");
  const auto lines = session.column(
      "explain (analyze, buffers, timing off) select * from inbox.claim((select min(handler_id) from inbox.handler),"
      " gen_random_uuid(), 1, interval '30 s', 1000, 16, clock_timestamp() - interval '" +
      std::to_string(claim_span.count()) + " s')");
  session.run("rollback");
  out.at = std::chrono::steady_clock::now();
  out.deliveries = session.number("select last_value from inbox.delivery_delivery_id_seq");
  for (const std::string& line : lines) {
    if (const auto at = line.find("shared hit="); at != std::string::npos && out.buffers == 0) {
      out.buffers = std::stoll(line.substr(at + 11));
    }
  }
  out.milliseconds = execution_time(lines);
  return out;
}

ClaimCost median_of(std::span<const ClaimCost> costs) {
  std::vector<double> buffers, milliseconds, fixed_milliseconds;
  for (const ClaimCost& cost : costs) {
    buffers.push_back(static_cast<double>(cost.buffers));
    milliseconds.push_back(cost.milliseconds);
    fixed_milliseconds.push_back(cost.fixed_milliseconds);
  }
  return {static_cast<std::int64_t>(median(buffers)), median(milliseconds), median(fixed_milliseconds), {}, 0};
}

/// Samples after the first lease, from when on claims walk over the full number of dead rows; all samples of a short
/// run.
std::span<const ClaimCost> warm(std::span<const ClaimCost> all) {
  const auto first = std::ranges::lower_bound(all, all.front().at + lease + claim_span, {}, &ClaimCost::at);
  return first == all.end() ? all : all.subspan(static_cast<std::size_t>(first - all.begin()));
}

/// Number of deliveries created until then; `all` is not empty and begins before that.
std::int64_t made_until(std::span<const ClaimCost> all, std::chrono::steady_clock::time_point then) {
  return std::prev(std::ranges::upper_bound(all, then, {}, &ClaimCost::at))->deliveries;
}

/// Median of the buffers that a claim reads per delivery on its way; 0 if the run was shorter than a lease.
double read_for_each(std::span<const ClaimCost> all, std::span<const ClaimCost> part) {
  std::vector<double> out;
  for (const ClaimCost& cost : part) {
    if (cost.at - lease - claim_span < all.front().at) continue;
    const auto made = made_until(all, cost.at - lease) - made_until(all, cost.at - lease - claim_span);
    if (made > 0) out.push_back(static_cast<double>(cost.buffers) / static_cast<double>(made));
  }
  return out.empty() ? 0 : median(out);
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

double rate_between(PostgresSession& session, double from, double to) {
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
  report.goal(what, fixed(times, 2) + " times the begin", "<= 1.10", times <= 1.1);
}

void end_goals_of_time(Report& report, const std::string& what, double end, double begin, double machine) {
  end_goal(report, what + " at the end", end, begin);
  end_goal(report, what + " at the end, beside a fixed query", end / machine, begin);
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

double ClaimSampler::show(const std::string& load, Report& report) const {
  const std::span<const ClaimCost> all = warm(costs_);
  const auto part = std::max(std::size_t{1}, static_cast<std::size_t>(static_cast<double>(all.size()) * compared));
  const std::span<const ClaimCost> first = all.first(part), last = all.last(part);
  const ClaimCost begin = median_of(first), end = median_of(last);
  report.note("one claim of " + std::to_string(all.size()) + ", medians: " + begin.text() +
              " in the first three tenths, " + end.text() + " in the last three");
  end_goal(report, load + ": buffers of one claim at the end", static_cast<double>(end.buffers),
           static_cast<double>(begin.buffers));
  const double machine = end.fixed_milliseconds / std::max(begin.fixed_milliseconds, 0.001);
  report.note("a fixed query at those times: " + fixed(begin.fixed_milliseconds, 2) + " ms, then " +
              fixed(end.fixed_milliseconds, 2) + " ms");
  end_goals_of_time(report, load + ": duration of one claim", end.milliseconds, begin.milliseconds, machine);
  const double read_first = read_for_each(costs_, first), read_last = read_for_each(costs_, last);
  if (read_first > 0) {
    report.note("per delivery on its way: " + fixed(read_first, 3) + " buffers, then " + fixed(read_last, 3));
    end_goal(report, load + ": buffers per delivery at the end", read_last, read_first);
  }
  return machine;
}

}  // namespace inboxd::bench
