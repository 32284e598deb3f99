#include "integration/delivery/order_model.hpp"

#include <algorithm>
#include <stdexcept>

namespace inboxd::support {
namespace {

void demand(bool holds, const std::string& complaint) {
  if (!holds) throw std::logic_error{complaint};
}

std::string due_text(OrderModel::Due due) {
  return due == OrderModel::Due::now ? "now" : due == OrderModel::Due::later ? "later" : "never";
}

}  // namespace

// ---- what is there

std::vector<std::int64_t> OrderModel::lane_of(char key) const {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].key == key && events_[i].state == State::in_lane) out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

bool OrderModel::is_pending(std::int64_t offset) const { return event(offset).state <= State::unordered; }

bool OrderModel::has_order(std::int64_t offset) const {
  return event(offset).key != '-' && event(offset).state != State::unordered;
}

bool OrderModel::is_parked(char key) const {
  return std::any_of(events_.begin(), events_.end(), [&](const Event& each) { return each.key == key && each.parks; });
}

std::vector<std::int64_t> OrderModel::unleased_log() const {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].state == State::in_log && !events_[i].is_leased) out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

std::vector<char> OrderModel::keys_with_lanes() const {
  std::set<char> out;
  for (const Event& each : events_) {
    if (each.state == State::in_lane || each.parks) out.insert(each.key);
  }
  return {out.begin(), out.end()};
}

std::vector<std::int64_t> OrderModel::due_heads() const {
  std::vector<std::int64_t> out;
  for (const char key : keys_with_lanes()) {
    const auto lane = lane_of(key);
    if (lane.empty() || event(lane[0]).is_leased || event(lane[0]).due != Due::now) continue;
    out.push_back(lane[0]);
  }
  return out;
}

std::vector<std::int64_t> OrderModel::due_unordered() const {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& each = events_[i];
    if (each.state == State::unordered && each.due == Due::now) out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

/// Earlier events of the key without an outcome.
std::vector<std::int64_t> OrderModel::open_before(std::int64_t offset, const std::set<std::int64_t>& with) const {
  std::vector<std::int64_t> out;
  for (std::int64_t earlier = 0; earlier < offset && event(offset).key != '-'; ++earlier) {
    const Event& each = event(earlier);
    const bool is_open = each.state == State::in_log || each.state == State::in_lane || each.state == State::parked;
    if (each.key == event(offset).key && is_open && !each.had_outcome && !with.contains(earlier))
      out.push_back(earlier);
  }
  return out;
}

bool OrderModel::is_in_turn(std::int64_t offset, const std::set<std::int64_t>& with) const {
  const auto open = open_before(offset, with);
  return std::none_of(open.begin(), open.end(), [&](std::int64_t earlier) {
    return event(earlier).state == State::in_log || event(earlier).state == event(offset).state;
  });
}

bool OrderModel::may_be_called(std::int64_t offset, const std::set<std::int64_t>& with) const {
  // A replayed event comes before the events of its lane that have not begun.
  const auto lane = event(offset).state == State::in_lane ? lane_of(event(offset).key) : std::vector<std::int64_t>{};
  const auto is_ahead = [&](std::int64_t each) { return each < offset && !with.contains(each); };
  return open_before(offset, with).empty() && std::none_of(lane.begin(), lane.end(), is_ahead);
}

bool OrderModel::is_over() const {
  return std::all_of(events_.begin(), events_.end(), [](const Event& each) { return each.state > State::unordered; });
}

// ---- steps of the owner

void OrderModel::store(char key, bool is_leased) {
  events_.push_back({});
  events_.back().key = key;
  events_.back().is_leased = is_leased;
}

void OrderModel::take() {
  for (Event& each : events_) {
    if (each.state == State::in_lane && each.is_leased) each.due = Due::now;
    each.is_leased = false;
  }
}

void OrderModel::claim_log(const std::vector<std::int64_t>& offsets) {
  const auto next = unleased_log();
  demand(offsets.size() <= next.size() && std::equal(offsets.begin(), offsets.end(), next.begin()),
         "the claimed events of the log are not the next ones");
  for (const auto offset : offsets) at(offset).is_leased = true;
}

void OrderModel::claim_lane(const std::vector<std::int64_t>& offsets) {
  demand(!offsets.empty(), "an empty row of a lane was claimed");
  const auto lane = lane_of(event(offsets[0]).key);
  demand(offsets.size() <= lane.size() && std::equal(offsets.begin(), offsets.end(), lane.begin()),
         "the claimed events of a lane are not its first ones");
  demand(event(lane[0]).due == Due::now, "a lane was claimed before its time");
  demand(is_in_turn(lane[0], {}), "a lane was claimed before an earlier event of its key had its outcome");
  for (const auto offset : offsets) {
    demand(!event(offset).is_leased, "a leased event was claimed");
    at(offset).is_leased = true;
    at(offset).due = Due::never;
  }
}

void OrderModel::release(const std::vector<std::int64_t>& offsets) {
  for (const auto offset : offsets) {
    at(offset).is_leased = false;
    if (event(offset).state == State::in_lane) at(offset).due = Due::now;
  }
}

void OrderModel::settle(const std::vector<Outcome>& outcomes) {
  using Kind = Outcome::Kind;
  for (const Outcome& outcome : outcomes) {  // dead events park their keys before others are parked
    if (outcome.kind == Kind::parks) at(outcome.offset).parks = true;
  }
  for (const Outcome& outcome : outcomes) {
    Event& each = at(outcome.offset);
    each.is_leased = false;
    const bool in_order = has_order(outcome.offset);
    const int attempt = each.attempts + 1;
    switch (outcome.kind) {
      case Kind::done:
        each.state = State::done;
        each.attempts = attempt;
        break;
      case Kind::retry:
        if (in_order && on_failure_ != config::OnFailure::skip) {
          put_in_lane(outcome.offset, outcome.due, attempt);
        } else {
          each.state = State::unordered;
          each.due = outcome.due;
          each.attempts = attempt;
          each.had_outcome = true;
        }
        break;
      case Kind::dead:
      case Kind::parks:
        each.state = State::dead;
        each.attempts = attempt;
        each.had_outcome = true;
        each.keeps_lane = in_order;
        break;
      case Kind::parked:
        if (is_parked(each.key)) {
          each.state = State::parked;
          each.keeps_lane = true;
        } else {
          put_in_lane(outcome.offset, Due::never, 0);
        }
        break;
      case Kind::waits:
        put_in_lane(outcome.offset, Due::never, 0);
    }
  }
  advance();
}

void OrderModel::put_in_lane(std::int64_t offset, Due due, int attempts) {
  Event& each = at(offset);
  each.state = State::in_lane;
  each.is_leased = false;
  each.due = due;
  each.attempts = attempts;
}

/// The first event of each lane is due, unless it is leased or waits for its retry.
void OrderModel::advance() {
  for (const char key : keys_with_lanes()) {
    const auto lane = lane_of(key);
    if (lane.empty()) continue;
    Event& first = at(lane[0]);
    if (!first.is_leased && first.due == Due::never) first.due = Due::now;
  }
}

// ---- steps of operators

OrderModel::Answer OrderModel::skip(std::int64_t offset) {
  Event& each = at(offset);
  if (!is_pending(offset)) return Answer::refused;
  if (each.is_leased) return Answer::leased;
  each.keeps_lane = each.state == State::in_lane;
  each.state = State::dead;
  each.had_outcome = true;
  ++each.attempts;
  advance();
  return Answer::done;
}

OrderModel::Answer OrderModel::retry(std::int64_t offset) {
  Event& each = at(offset);
  if (!is_pending(offset)) return Answer::refused;
  if (each.is_leased) return Answer::leased;
  if (each.state == State::in_log || each.due != Due::later) return Answer::refused;
  each.due = Due::now;
  return Answer::done;
}

OrderModel::Answer OrderModel::replay(std::int64_t offset) {
  const char key = event(offset).key;
  if (event(offset).state != State::dead) return Answer::refused;
  std::vector<std::int64_t> back{offset};
  if (event(offset).parks) {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].key == key && events_[i].state == State::parked) back.push_back(static_cast<std::int64_t>(i));
    }
  }
  for (const auto each : back) come_back(each);
  advance();
  return Answer::done;
}

OrderModel::Answer OrderModel::release_key(char key) {
  if (!is_parked(key)) return Answer::refused;
  for (Event& each : events_) {
    if (each.key == key) each.parks = false;
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].key == key && events_[i].state == State::parked) come_back(static_cast<std::int64_t>(i));
  }
  advance();
  return Answer::done;
}

/// From the dead letters, to its place in its lane. The event that was the first there waits, and loses its lease.
void OrderModel::come_back(std::int64_t offset) {
  Event& each = at(offset);
  each.parks = false;
  if (!each.keeps_lane) {
    each.state = State::unordered;
    each.due = Due::now;
    each.attempts = 0;
    return;
  }
  const auto lane = lane_of(each.key);
  for (const auto later : lane) {
    if (lane[0] < offset || (later != lane[0] && !event(later).is_leased)) continue;
    at(later).due = Due::never;
    at(later).is_leased = false;
  }
  put_in_lane(offset, Due::never, 0);
}

// ---- as the views show it

std::string OrderModel::state_of(std::int64_t offset) const {
  const Event& each = event(offset);
  if (each.state == State::done) return "done";
  if (each.state == State::dead) return "dead";
  if (each.state == State::parked) return "parked";
  if (each.is_leased) return "leased";
  if (each.state == State::in_log) return "due";
  if (each.due == Due::later) return "retrying";
  return each.state == State::in_lane && lane_of(each.key)[0] != offset ? "behind" : "due";
}

std::set<std::string> OrderModel::deliveries() const {
  std::set<std::string> out;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    out.insert(std::to_string(i) + " " + state_of(static_cast<std::int64_t>(i)) + " " +
               std::to_string(events_[i].attempts));
  }
  return out;
}

std::multiset<std::string> OrderModel::lanes() const {
  std::multiset<std::string> out;
  for (const char key : keys_with_lanes()) {
    const auto line = [&](const std::string& state, std::size_t waiting, std::int64_t head, const std::string& due) {
      out.insert(std::string{key} + " " + state + " " + std::to_string(waiting) + " " + std::to_string(head) + " " +
                 std::to_string(event(head).attempts) + " " + due);
    };
    if (const auto lane = lane_of(key); !lane.empty()) {
      line("blocked", lane.size() - 1, lane[0], due_text(event(lane[0]).due));
    }
    std::size_t parked = 0;
    for (const Event& each : events_) parked += each.key == key && each.state == State::parked ? 1 : 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].key == key && events_[i].parks) line("parked", parked, static_cast<std::int64_t>(i), "never");
    }
  }
  return out;
}

}  // namespace inboxd::support
