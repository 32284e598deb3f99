#include "transaction/savepoints.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::transaction {
namespace {

std::string name_of(std::int32_t number) { return "savepoint s" + std::to_string(number); }

}  // namespace

void Savepoints::begin_call(bool alone, bool has_failed) {
  if (call_ > 0) release(std::exchange(call_, 0), has_failed);
  call_ = alone ? 0 : set(false);
  first_ = last_ + 1;
}

void Savepoints::release_handlers() {
  const auto left = std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return is_handlers(p.number); });
  if (left != points_.end()) release(left->number, false);
}

bool Savepoints::undo_call() {
  if (call_ == 0) return false;
  roll_back_to(std::exchange(call_, 0));
  return true;
}

std::int32_t Savepoints::set(bool has_failed) {
  points_.push_back({++last_, false, has_failed});
  return last_;
}

void Savepoints::release(std::int32_t number, bool has_failed) {
  const auto at = find(number);
  if (at == points_.end()) return;
  if (at->is_sent && !has_failed) pending_.push_back("release " + name_of(number));
  points_.erase(at, points_.end());
}

bool Savepoints::roll_back_to(std::int32_t number) {
  const auto at = find(number);
  if (at == points_.end()) return false;
  if (at->is_sent) {
    pending_.push_back("rollback to " + name_of(number));
    pending_.push_back("release " + name_of(number));
  }
  const bool undoes_failure = !at->is_after_failure;
  points_.erase(at, points_.end());
  return undoes_failure;
}

std::vector<std::string> Savepoints::take_pending() { return std::exchange(pending_, {}); }

std::vector<std::string> Savepoints::take_new() {
  std::vector<std::string> out;
  for (Point& point : points_) {
    if (!std::exchange(point.is_sent, true)) out.push_back(name_of(point.number));
  }
  return out;
}

void Savepoints::reset(const char* then) {
  points_.clear();
  pending_.clear();
  call_ = 0;
  if (*then != '\0') pending_.emplace_back(then);
}

std::vector<Savepoints::Point>::iterator Savepoints::find(std::int32_t number) {
  return std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.number == number; });
}

}  // namespace inboxd::transaction
