// The handler `exec` gives events to a program, in any language. Settings: settings.hpp.
#include <inboxd/handler.hpp>

#include "../shared/away_notice.hpp"
#include "once.hpp"
#include "program.hpp"
#include "reaper.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace exec_handler {
namespace {

struct Exec final : inboxd::Handler {
  explicit Exec(const inboxd::Settings& settings)
      : program{program_of(handlers::known(settings, table))},
        log{settings.log()},
        stream{program, settings.log(), no_start} {}

  void handle_batch(inboxd::Call& call, const inboxd::Events& events) override {
    if (program.mode == Mode::stream) return stream.handle(call, events);
    for (const inboxd::Event event : events) {
      if (call.is_cancelled()) return;
      try {
        const auto outcome = run_once(program, call, event);
        if (no_start.ends()) log.info("the program can be started again");
        if (outcome) call.settle(event, *outcome);
        if (outcome && outcome->kind != INBOXD_DONE) {  // later events of its key must not run before it
          return call.settle_rest(inboxd::away(std::chrono::milliseconds{0}, "an earlier event has failed"));
        }
      } catch (const std::exception& thrown) {
        if (no_start.begins()) log.error(std::string{thrown.what()} + "; its events wait uncharged");
        return call.settle_rest(inboxd::away(std::chrono::seconds{10}, thrown.what(), "exec.start"));
      }
    }
  }

  const Program program;
  const Reaper reaper;
  const inboxd::Log log;
  handlers::AwayNotice no_start;
  Stream stream;
};

}  // namespace
}  // namespace exec_handler

INBOXD_HANDLER(exec_handler::Exec, "exec", INBOXD_VERSION, INBOXD_JSON)
