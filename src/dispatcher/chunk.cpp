#include "dispatcher/chunk.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// How the plugin room marks events that a cancelled handler did not come to (plugin::Verdict).
constexpr std::string_view cancelled_class = "cancelled";
/// What a handler that gave too few verdicts said of the others.
constexpr const char* no_verdict_class = "no-verdict";

settler::Verdict to_settle(plugin::Verdict& verdict) {
  const auto kind =
      verdict.kind == plugin::Verdict::Kind::dead ? settler::Verdict::Kind::dead : settler::Verdict::Kind::retry;
  return {kind, verdict.delay, std::move(verdict.error_class), std::move(verdict.message)};
}

}  // namespace

std::size_t Chunk::index_of(const Place& place) const {
  return place.entered ? place.index : pieces_[place.piece].first;
}

void Chunk::advance(Place& place, std::size_t events) const {
  while (events > 0 && !at_end(place)) {
    const Piece& piece = pieces_[place.piece];
    const std::size_t index = index_of(place);
    const std::size_t step = std::min(events, piece.end - index);
    events -= step;
    place = index + step == piece.end ? Place{place.piece + 1, 0, false} : Place{place.piece, index + step, true};
  }
}

/// Visits (piece number, first, end) for each piece between two places.
template <class Visit>
void Chunk::each_part(const Place& from, const Place& to, Visit visit) const {
  for (Place at = from; at.piece <= to.piece && !at_end(at); at = Place{at.piece + 1, 0, false}) {
    const std::size_t first = index_of(at);
    const std::size_t end =
        at.piece < to.piece ? pieces_[at.piece].end : (to.entered ? to.index : pieces_[at.piece].first);
    if (first < end) visit(at.piece, first, end);
  }
}

Piece Chunk::part(std::size_t number, std::size_t first, std::size_t end) const {
  return {pieces_[number].run, first, end, pieces_[number].singly};
}

/// How many of the next events make one call: those before the first that goes singly, or that one.
std::size_t Chunk::together(std::size_t most) const {
  std::size_t events = 0;
  for (Place at = end_; events < most && !at_end(at); at = Place{at.piece + 1, 0, false}) {
    if (pieces_[at.piece].singly) return std::max<std::size_t>(events, 1);
    events += pieces_[at.piece].end - index_of(at);
  }
  return std::min(events, most);
}

bool Chunk::begin_call(std::size_t events) {
  begin_ = end_;
  advance(end_, together(events));
  return call_size() > 0;
}

std::size_t Chunk::call_size() const {
  std::size_t size = 0;
  each_part(begin_, end_, [&](std::size_t, std::size_t first, std::size_t end) { size += end - first; });
  return size;
}

bool Chunk::is_call_taken(std::chrono::steady_clock::time_point now) const {
  bool taken = false;
  each_part(begin_, end_, [&](std::size_t number, std::size_t, std::size_t) {
    const settler::Run& run = *pieces_[number].run;
    taken = taken || run.lost || run.ours_until.load() <= now;
  });
  return taken;
}

void Chunk::deliver(std::vector<plugin::Delivered>& to) const {
  to.clear();
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    const inbox::LeasedRun& lease = pieces_[number].run->lease;
    for (std::size_t i = first; i < end; ++i) {
      to.push_back(
          {lease.events[i], lease.place->topic, lease.place->partition, lease.attempts + 1, lease.has_content});
    }
  });
}

void Chunk::end_call(std::vector<plugin::Verdict> verdicts, std::chrono::milliseconds duration, Cancelled cancelled) {
  const bool goes_singly = cancelled == Cancelled::goes_singly && call_size() > 1;
  std::size_t said = 0;
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i, ++said) {
      if (said >= verdicts.size()) {
        const settler::Verdict none{settler::Verdict::Kind::retry, std::nullopt, no_verdict_class,
                                    "the handler returned no verdict for the event"};
        marks_.push_back({number, {i, none, duration}, false});
      } else if (verdicts[said].kind != plugin::Verdict::Kind::done) {
        const bool interrupted = (cancelled == Cancelled::is_an_interruption || goes_singly) &&
                                 verdicts[said].error_class == cancelled_class;
        marks_.push_back({number, {i, to_settle(verdicts[said]), duration}, interrupted, goes_singly});
      }
    }
  });
  begin_ = end_;
}

void Chunk::fail_call(const settler::Verdict& verdict, std::chrono::milliseconds duration) {
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) marks_.push_back({number, {i, verdict, duration}, false});
  });
  begin_ = end_;
}

std::vector<Piece> Chunk::split_call() const {
  std::vector<Piece> pieces = call_pieces();
  for (Piece& piece : pieces) piece.singly = true;
  return pieces;
}

void Chunk::keep_first() {
  end_ = begin_;
  advance(end_, 1);
}

void Chunk::rewind() {
  begin_ = end_ = reported_;
  marks_.clear();
}

std::vector<Piece> Chunk::take_unreported() {
  std::vector<Piece> out;
  each_part(reported_, begin_, [&](std::size_t number, std::size_t first, std::size_t end) {
    out.push_back(part(number, first, end));
  });
  marks_.clear();
  reported_ = begin_;
  return out;
}

std::vector<settler::Report> Chunk::take_finished() {
  std::vector<settler::Report> out;
  auto mark = marks_.begin();
  each_part(reported_, begin_, [&](std::size_t number, std::size_t first, std::size_t end) {
    const auto& run = pieces_[number].run;
    settler::Report report{run, first, end, {}};
    for (; mark != marks_.end() && mark->piece == number; ++mark) {
      if (!mark->interrupted) {
        report.failed.push_back(std::move(mark->failed));
        continue;
      }
      const std::size_t at = mark->failed.index;
      interrupted_.push_back({run, at, at + 1, mark->singly || pieces_[number].singly});
      report.end = at;
      if (report.first < report.end) out.push_back(std::move(report));
      report = settler::Report{run, at + 1, end, {}};
    }
    if (report.first < report.end) out.push_back(std::move(report));
  });
  marks_.clear();
  reported_ = begin_;
  return out;
}

std::vector<Piece> Chunk::take_rest() {
  std::vector<Piece> rest = std::exchange(interrupted_, {});
  const Place last{pieces_.size(), 0, false};
  each_part(end_, last, [&](std::size_t number, std::size_t first, std::size_t end) {
    rest.push_back(part(number, first, end));
  });
  if (end_.piece < pieces_.size()) {
    if (end_.entered) {
      pieces_[end_.piece].end = end_.index;
      pieces_.resize(end_.piece + 1);
    } else {
      pieces_.resize(end_.piece);
    }
  }
  return rest;
}

std::vector<Piece> Chunk::call_pieces() const {
  std::vector<Piece> out;
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    out.push_back(part(number, first, end));
  });
  return out;
}

}  // namespace inboxd::dispatcher
