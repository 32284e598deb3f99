#include "dispatcher/work_batch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// The error class of an event that a cancelled handler did not come to; also set by the plugin room.
constexpr std::string_view cancelled_class = "cancelled";
/// The error class of an event without a verdict.
constexpr const char* no_verdict_class = "no-verdict";

}  // namespace

std::size_t WorkBatch::index_of(const Position& position) const {
  return position.entered ? position.index : slices_[position.slice].first;
}

void WorkBatch::advance(Position& position, std::size_t events) const {
  while (events > 0 && !at_end(position)) {
    const RunSlice& slice = slices_[position.slice];
    const std::size_t index = index_of(position);
    const std::size_t step = std::min(events, slice.end - index);
    events -= step;
    position = index + step == slice.end ? Position{position.slice + 1, 0, false}
                                         : Position{position.slice, index + step, true};
  }
}

/// Visits (slice number, first, end) of each part of a slice between two positions.
template <class Visit>
void WorkBatch::each_part(const Position& from, const Position& to, Visit visit) const {
  for (Position at = from; at.slice <= to.slice && !at_end(at); at = Position{at.slice + 1, 0, false}) {
    const std::size_t first = index_of(at);
    const std::size_t end =
        at.slice < to.slice ? slices_[at.slice].end : (to.entered ? to.index : slices_[at.slice].first);
    if (first < end) visit(at.slice, first, end);
  }
}

RunSlice WorkBatch::part(std::size_t number, std::size_t first, std::size_t end) const {
  return {slices_[number].run, first, end, slices_[number].one_by_one};
}

/// The number of the next events that make one call: those before the first one to be called alone, or that one.
std::size_t WorkBatch::together(std::size_t most) const {
  std::size_t events = 0;
  for (Position at = end_; events < most && !at_end(at); at = Position{at.slice + 1, 0, false}) {
    if (slices_[at.slice].one_by_one) return std::max<std::size_t>(events, 1);
    events += slices_[at.slice].end - index_of(at);
  }
  return std::min(events, most);
}

bool WorkBatch::begin_call(std::size_t events) {
  begin_ = end_;
  advance(end_, together(events));
  return call_size() > 0;
}

std::size_t WorkBatch::call_size() const {
  std::size_t size = 0;
  each_part(begin_, end_, [&](std::size_t, std::size_t first, std::size_t end) { size += end - first; });
  return size;
}

bool WorkBatch::is_call_taken(std::chrono::steady_clock::time_point now) const {
  bool taken = false;
  each_part(begin_, end_, [&](std::size_t number, std::size_t, std::size_t) {
    const settler::Run& run = *slices_[number].run;
    taken = taken || run.lost || run.leased_until.load() <= now;
  });
  return taken;
}

void WorkBatch::deliver(std::vector<plugin::Delivered>& to) const {
  to.clear();
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    const inbox::LeasedRun& lease = slices_[number].run->lease;
    for (std::size_t i = first; i < end; ++i) {
      to.push_back(
          {lease.events[i], lease.place->topic, lease.place->partition, lease.attempts + 1, lease.has_content});
    }
  });
}

void WorkBatch::end_call(std::vector<event::Verdict> verdicts, std::chrono::milliseconds duration,
                         Cancelled cancelled) {
  const bool one_by_one = cancelled == Cancelled::one_by_one && call_size() > 1;
  std::size_t given = 0;
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i, ++given) {
      if (given >= verdicts.size()) {
        const event::Verdict none{event::Verdict::Kind::retry, std::nullopt, no_verdict_class,
                                  "the handler returned no verdict for the event"};
        failures_.push_back({number, {i, none, duration}, false});
      } else if (verdicts[given].kind != event::Verdict::Kind::done) {
        const bool interrupted =
            (cancelled == Cancelled::interrupted || one_by_one) && verdicts[given].error_class == cancelled_class;
        failures_.push_back({number, {i, std::move(verdicts[given]), duration}, interrupted, one_by_one});
      }
    }
  });
  begin_ = end_;
}

void WorkBatch::fail_call(const event::Verdict& verdict, std::chrono::milliseconds duration) {
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) failures_.push_back({number, {i, verdict, duration}, false});
  });
  begin_ = end_;
}

std::vector<RunSlice> WorkBatch::split_call() const {
  std::vector<RunSlice> slices = call_slices();
  for (RunSlice& slice : slices) slice.one_by_one = true;
  return slices;
}

void WorkBatch::keep_first() {
  end_ = begin_;
  advance(end_, 1);
}

void WorkBatch::rewind() {
  begin_ = end_ = reported_;
  failures_.clear();
}

std::vector<RunSlice> WorkBatch::take_unreported() {
  std::vector<RunSlice> out;
  each_part(reported_, begin_,
            [&](std::size_t number, std::size_t first, std::size_t end) { out.push_back(part(number, first, end)); });
  failures_.clear();
  reported_ = begin_;
  return out;
}

std::vector<settler::Report> WorkBatch::take_finished() {
  std::vector<settler::Report> out;
  auto failure = failures_.begin();
  each_part(reported_, begin_, [&](std::size_t number, std::size_t first, std::size_t end) {
    const auto& run = slices_[number].run;
    settler::Report report{run, first, end, {}};
    for (; failure != failures_.end() && failure->slice == number; ++failure) {
      if (!failure->interrupted) {
        report.failed.push_back(std::move(failure->failed));
        continue;
      }
      const std::size_t at = failure->failed.index;
      interrupted_.push_back({run, at, at + 1, failure->one_by_one || slices_[number].one_by_one});
      report.end = at;
      if (report.first < report.end) out.push_back(std::move(report));
      report = settler::Report{run, at + 1, end, {}};
    }
    if (report.first < report.end) out.push_back(std::move(report));
  });
  failures_.clear();
  reported_ = begin_;
  return out;
}

std::vector<RunSlice> WorkBatch::take_rest() {
  std::vector<RunSlice> rest = std::exchange(interrupted_, {});
  const Position last{slices_.size(), 0, false};
  each_part(end_, last,
            [&](std::size_t number, std::size_t first, std::size_t end) { rest.push_back(part(number, first, end)); });
  if (end_.slice < slices_.size()) {
    if (end_.entered) {
      slices_[end_.slice].end = end_.index;
      slices_.resize(end_.slice + 1);
    } else {
      slices_.resize(end_.slice);
    }
  }
  return rest;
}

std::vector<RunSlice> WorkBatch::call_slices() const {
  std::vector<RunSlice> out;
  each_part(begin_, end_,
            [&](std::size_t number, std::size_t first, std::size_t end) { out.push_back(part(number, first, end)); });
  return out;
}

}  // namespace inboxd::dispatcher
