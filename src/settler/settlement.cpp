#include "settler/settlement.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>
#include <utility>

#include "base/text.hpp"
#include "config/settings.hpp"

namespace inboxd::settler {
namespace {

/// Limits for a failure's texts. A handler wrote them, so they may hold any bytes, and any number of them.
constexpr std::size_t message_bytes = 2000;
constexpr std::size_t class_bytes = 100;
constexpr const char* unnamed_class = "failed";

/// `shorten` adds a mark where it cuts, on top of its limit.
constexpr std::size_t cut_mark_bytes = 3;

std::string tidy(const std::string& text, std::size_t limit) {
  const std::string kept = base::shorten(text, limit);  // first, so that a long text is not escaped in full
  return base::shorten(base::escape_controls(kept), limit - cut_mark_bytes);
}

/// Adds the offsets of events [first, end) of a run, without the gaps between them.
void add_offsets(event::OffsetSet& out, const std::vector<const event::Event*>& events, std::size_t first,
                 std::size_t end) {
  const std::int64_t span = events[end - 1]->offset - events[first]->offset;
  if (span == static_cast<std::int64_t>(end - first) - 1) {
    out.add({events[first]->offset, events[end - 1]->offset + 1});
    return;
  }
  for (std::size_t i = first; i < end; ++i) out.add(events[i]->offset);
}

/// Failures are alike if they have the same delay and, where the handler asked for it, the same error class.
bool alike(const inbox::RetryGroup& group, const std::optional<std::string>& group_class, const RetryIn& retry,
           const event::Verdict& verdict) {
  if (group.delay != retry.delay || group_class.has_value() != verdict.delay.has_value()) return false;
  return !group_class || *group_class == verdict.error_class;
}

}  // namespace

double random01() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

std::chrono::milliseconds backoff_for(const config::Retry& retry, std::int32_t attempt, double random01) {
  const auto capped = static_cast<double>(config::delay_after(retry, attempt).count());
  const double factor = 1.0 + retry.jitter * (2.0 * random01 - 1.0);
  return std::chrono::milliseconds{std::llround(std::max(0.0, capped * factor))};
}

Transition transition_for(const event::Verdict& verdict, std::int32_t attempts, const config::Retry& retry,
                          double random01) {
  if (verdict.kind == event::Verdict::Kind::done) return Done{};
  const std::int64_t attempt = std::int64_t{attempts} + 1;
  if (verdict.kind == event::Verdict::Kind::dead || attempt >= retry.max_attempts) return Dead{};
  if (verdict.delay) return RetryIn{std::max(*verdict.delay, std::chrono::milliseconds{0})};
  return RetryIn{backoff_for(retry, static_cast<std::int32_t>(attempt), random01)};
}

void SettlementBuilder::add(Report report) {
  std::size_t from = report.first;
  for (FailedEvent& failed : report.failed) {
    done_.add({static_cast<std::int64_t>(from), static_cast<std::int64_t>(failed.index)});
    from = failed.index + 1;
    event::Verdict& verdict = failed.verdict;
    verdict.error_class = verdict.error_class.empty() ? unnamed_class : tidy(verdict.error_class, class_bytes);
    verdict.message = tidy(verdict.message, message_bytes);
    failed_.push_back(std::move(failed));
  }
  done_.add({static_cast<std::int64_t>(from), static_cast<std::int64_t>(report.end)});
  events_ += report.end - report.first;
  assert(run_->recorded + events_ <= run_->size());
}

RunSettlement SettlementBuilder::take(double random01) {
  const inbox::LeasedRun& lease = run_->lease;
  RunSettlement out;
  inbox::Settlement& to = out.settlement;
  to.key = lease.key;
  // Offsets of purged events stay pending, so the row must stay.
  to.whole = complete() && static_cast<std::int64_t>(run_->size()) == lease.pending.count();
  if (to.whole && failed_.empty() && run_->recorded == 0) {
    to.done = lease.pending;
  } else {
    for (const auto& range : done_.ranges()) {
      add_offsets(to.done, lease.events, static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.end));
    }
  }
  out.counts.done = done_.count();

  std::sort(failed_.begin(), failed_.end(),
            [](const FailedEvent& a, const FailedEvent& b) { return a.index < b.index; });
  std::vector<std::optional<std::string>> classes;  // one for each group; set where the handler asked for the delay
  for (FailedEvent& failed : failed_) {
    const event::Event& event = *lease.events[failed.index];
    event::Verdict& verdict = failed.verdict;
    const Transition transition = transition_for(verdict, lease.attempts, run_->retry, random01);
    if (const auto* retry = std::get_if<RetryIn>(&transition)) {
      std::size_t i = 0;
      while (i < classes.size() && !alike(to.retries[i], classes[i], *retry, verdict)) ++i;
      std::string error = verdict.error_class + ": " + verdict.message;
      if (i < classes.size() && to.retries[i].last_error != error) to.retries[i].last_error.reset();
      if (i == classes.size()) {
        to.retries.push_back({{}, retry->delay, std::move(error)});
        classes.push_back(verdict.delay ? std::optional{verdict.error_class} : std::nullopt);
      }
      to.retries[i].offsets.add(event.offset);
      ++out.counts.retried;
    } else {
      to.dead.push_back({event.offset, event.event_id});
      ++out.counts.dead;
    }
    to.failures.push_back({event.event_id, lease.attempts + 1, std::move(verdict.error_class),
                           std::move(verdict.message), failed.duration});
  }
  done_ = {};
  failed_.clear();
  events_ = 0;
  return out;
}

}  // namespace inboxd::settler
