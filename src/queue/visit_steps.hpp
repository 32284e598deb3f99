#pragma once
#include <cstddef>
#include <optional>

#include "queue/requests.hpp"

namespace inboxd::dispatcher {

/// The place in a visit, which asks each question of a class once.
class VisitSteps final {
 public:
  /// The first request of the questions that are left, which are functions; nullopt ends the visit.
  template <class... Questions>
  std::optional<Request> next(const Questions&... questions) {
    std::optional<Request> out;
    std::size_t number = 0;
    const auto ask = [&](const auto& question) {
      if (out || number++ < step_) return;
      ++step_;
      out = question();
    };
    (ask(questions), ...);
    if (!out) step_ = 0;
    return out;
  }
  /// The last question is asked again.
  void repeat() { --step_; }
  void restart() { step_ = 0; }

 private:
  std::size_t step_ = 0;
};

}  // namespace inboxd::dispatcher
