#include "claimer/answer_log.hpp"

#include <chrono>

namespace inboxd::dispatcher {
namespace {

struct Writer {
  base::Logger& log;
  const std::string& handler;
  const Answer& answer;

  template <class Question>
  void operator()(const Question&) const {}

  void operator()(const SettleSkipped& question) const {
    log.warn("dispatcher.events_gone", {{"deliveries", question.keys.size()}});
  }

  void operator()(const WriteHold& question) const {
    if (question.news.kind == inbox::HoldNews::Kind::closed) {
      log.info("dispatcher.fuse_closed", {{"handler", handler}});
    } else {
      log.error("dispatcher.handler_paused", {{"handler", handler}, {"reason", question.news.reason}});
    }
  }

  void operator()(const TakeSequences&) const {
    const auto& taken = std::get<TakeSequences::Result>(answer);
    if (taken.empty()) return;
    log.debug("dispatcher.sequences_taken", {{"handler", handler}, {"sequences", taken.size()}});
  }

  void operator()(const TurnWindow&) const {
    using State = inbox::WindowTurn::State;
    const auto& turn = std::get<inbox::WindowTurn>(answer);
    const base::Logger::Facts facts{{"handler", handler}, {"events", turn.events}};
    if (turn.state == State::closed) log.info("dispatcher.window_closed", facts);
    if (turn.state == State::postponed) log.info("dispatcher.window_postponed", facts);
  }

  /// A batch handler's call that has crashed the process at each of its chances.
  void operator()(const ClaimInOrder& question) const {
    const auto& runs = std::get<inbox::ClaimedInOrder>(answer).claimed.runs;
    if (!question.request.window || runs.empty() || runs.front().claims <= question.max_crashes) return;
    std::size_t events = 0;
    for (const inbox::LeasedRun& run : runs) events += run.events.size();
    log.warn("dispatcher.call_halved", {{"handler", handler},
                                        {"events", events},
                                        {"crashes", runs.front().claims - 1},
                                        {"max_crashes", question.max_crashes}});
  }
};

}  // namespace

void log_answer(base::Logger& log, const std::string& handler, const Request& request, const Answer& answer) {
  std::visit(Writer{log, handler, answer}, request);
}

void log_window_end(base::Logger& log, const std::string& handler, const WindowEnd& end) {
  log.info("dispatcher.window_ended", {{"handler", handler},
                                       {"events", end.events},
                                       {"seconds", std::chrono::duration<double>(end.duration).count()}});
}

}  // namespace inboxd::dispatcher
