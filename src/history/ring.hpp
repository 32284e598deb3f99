#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "history/series.hpp"

namespace inboxd::history {

/// The last steps of every topic and handler, at fixed places of memory. Not thread-safe.
class Ring final {
 public:
  /// Names beyond the first so many have no history; of topics and of handlers each.
  static constexpr std::size_t max_names = 100;
  /// Error classes that are told apart; the rest is `other`.
  static constexpr std::size_t max_classes = 4;

  Ring(std::int64_t step, std::size_t steps) : step_{step}, steps_{steps} {}

  /// Makes `number` the newest step. Steps between are unknown, and later steps, of a clock that went back, are
  /// forgotten. A step's number is its start in seconds since 1970, divided by its length.
  void move_to(std::int64_t number);
  /// nullptr: there are too many names.
  Track* topic(const std::string& name) { return find(topics_, name, topic_fields.size()); }
  Track* handler(const std::string& name) { return find(handlers_, name, handler_fields.size()); }
  /// The values of an error class, or those of `other`. `count`: the class's failures in the newest step.
  Values& failures(Track& handler, const std::string& error_class, float count);
  /// Values of an error class without a decision; nothing is moved to `other`.
  Values& failures_of(Track& handler, const std::string& error_class);

  /// The value of a step that the ring still has.
  float& at(Values& values, std::int64_t number) const { return values[place_of(number)]; }
  float at(const Values& values, std::int64_t number) const { return values[place_of(number)]; }
  bool has(std::int64_t number) const;
  std::int64_t newest() const { return newest_.value_or(0); }

  /// Oldest first. Empty before the first step.
  View view() const;
  const Tracks& topics() const { return topics_; }
  Tracks& handlers() { return handlers_; }
  const Tracks& handlers() const { return handlers_; }
  /// Forgets topics and handlers without a known value.
  void forget_unknown();
  std::size_t bytes() const;

 private:
  std::size_t place_of(std::int64_t number) const;
  Track* find(Tracks& tracks, const std::string& name, std::size_t fields);
  Values new_values() const { return Values(steps_, unknown); }
  Values in_order(const Values& values) const;
  Tracks in_order(const Tracks& tracks) const;
  void clear(std::int64_t number);

  const std::int64_t step_;
  const std::size_t steps_;
  std::optional<std::int64_t> newest_;
  Tracks topics_, handlers_;
};

}  // namespace inboxd::history
