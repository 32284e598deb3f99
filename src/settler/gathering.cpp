#include "settler/gathering.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.hpp"

namespace inboxd::settler {
namespace {

/// What of a failure's words is kept. They are a handler's, so they may be anything.
constexpr std::size_t message_bytes = 2000;
constexpr std::size_t class_bytes = 100;
constexpr const char* unnamed_class = "failed";

/// The mark that `shorten` puts where it cut is not among the bytes that it was given.
constexpr std::size_t cut_mark_bytes = 3;

std::string tidy(const std::string& text, std::size_t limit) {
  const std::string kept = base::shorten(text, limit);  // first, so that a novel is not escaped in full
  return base::shorten(base::escape_controls(kept), limit - cut_mark_bytes);
}

/// The offsets of events [first, end) of a run; gaps between them are none of its offsets.
void add_offsets(event::OffsetSet& out, const std::vector<const event::Event*>& events, std::size_t first,
                 std::size_t end) {
  const std::int64_t span = events[end - 1]->offset - events[first]->offset;
  if (span == static_cast<std::int64_t>(end - first) - 1) {
    out.add({events[first]->offset, events[end - 1]->offset + 1});
    return;
  }
  for (std::size_t i = first; i < end; ++i) out.add(events[i]->offset);
}

/// Failures alike: the same delay, and where the handler named it, the same error class.
bool alike(const inbox::RetryGroup& group, const std::optional<std::string>& group_class, const RetryIn& retry,
           const Verdict& verdict) {
  if (group.delay != retry.delay || group_class.has_value() != verdict.delay.has_value()) return false;
  return !group_class || *group_class == verdict.error_class;
}

}  // namespace

void Gathering::add(Report report) {
  std::size_t from = report.first;
  for (Failed& failed : report.failed) {
    done_.add({static_cast<std::int64_t>(from), static_cast<std::int64_t>(failed.index)});
    from = failed.index + 1;
    Verdict& verdict = failed.verdict;
    verdict.error_class = verdict.error_class.empty() ? unnamed_class : tidy(verdict.error_class, class_bytes);
    verdict.message = tidy(verdict.message, message_bytes);
    failed_.push_back(std::move(failed));
  }
  done_.add({static_cast<std::int64_t>(from), static_cast<std::int64_t>(report.end)});
  events_ += report.end - report.first;
  assert(run_->recorded + events_ <= run_->size());
}

Gathered Gathering::take(double random01) {
  const inbox::LeasedRun& lease = run_->lease;
  Gathered out;
  inbox::Settlement& to = out.settlement;
  to.key = lease.key;
  // Offsets whose events were purged are left in the row: it must not go with them.
  to.whole = complete() && static_cast<std::int64_t>(run_->size()) == lease.pending.count();
  if (to.whole && failed_.empty() && run_->recorded == 0) {
    to.done = lease.pending;
  } else {
    for (const auto& range : done_.ranges()) {
      add_offsets(to.done, lease.events, static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.end));
    }
  }
  out.done = done_.count();

  std::sort(failed_.begin(), failed_.end(), [](const Failed& a, const Failed& b) { return a.index < b.index; });
  std::vector<std::optional<std::string>> classes;  // of the groups: named where the handler asked for the delay
  for (Failed& failed : failed_) {
    const event::Event& event = *lease.events[failed.index];
    Verdict& verdict = failed.verdict;
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
      ++out.retried;
    } else {
      to.dead.push_back({event.offset, event.event_id});
      ++out.dead;
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
