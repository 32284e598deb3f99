#include <algorithm>
#include <chrono>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/ask_daemon.hpp"
#include "cli/operation_command.hpp"
#include "cli/operator.hpp"
#include "cli/present.hpp"
#include "cli/terminal.hpp"
#include "cli/value_text.hpp"
#include "cli/watch_view.hpp"
#include "config/units.hpp"
#include "event/now.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;
using operations::Document;
using namespace std::chrono_literals;

constexpr auto refresh_interval = 2s;
constexpr auto history_timeout = 1s;  // of a daemon that hangs; the keys wait meanwhile
constexpr auto key_wait = 200ms;  // and how soon a changed size of the terminal is seen

using Given = std::map<std::string, std::vector<std::string>>;

/// An object also for an answer without a document.
Document rows_of(const Answer& answer) { return answer.document.is_object() ? answer.document : Document::object(); }

/// Whether watching continues after this status: after problems, and while the database is away or busy.
bool is_worth_watching(ExitCode code) {
  return code == ExitCode::done || code == ExitCode::no || code == ExitCode::unavailable || code == ExitCode::try_again;
}

/// Repeats `status` on a stream, until Ctrl-C.
ExitCode repeat(const Session& session, Reader& reader, Interrupt& interrupt, const Given& given) {
  do {
    const Answer answer = reader.ask("status", given);
    if (interrupt.wait(0ms)) break;  // the answer may have been cut off
    std::string text = answer.document.is_null() ? "" : present_status(answer.document, session.output.look);
    if (!answer.message.empty()) text += in_tone(one_line(answer.message), Tone::bad, session.output.look) + "\n";
    session.output.out << text << '\n' << std::flush;
    if (!is_worth_watching(answer.code)) return answer.code;
  } while (session.output.out.good() && !interrupt.wait(refresh_interval));
  return ExitCode::done;
}

/// The full screen: an overview, from it a handler's failures, from them an event.
class Watch final {
 public:
  Watch(const Session& session, const config::Settings& settings, Reader& reader, Interrupt& interrupt, Given given)
      : settings_{settings},
        reader_{reader},
        interrupt_{interrupt},
        given_{std::move(given)},
        look_{session.output.look} {}

  ExitCode run(Terminal& terminal) {
    auto next = std::chrono::steady_clock::now();
    while (!interrupt_.wait(0ms) && !terminal.has_ended()) {
      const bool is_due = std::chrono::steady_clock::now() >= next;
      if (is_due && !refresh()) return code_;
      if (is_due) next = std::chrono::steady_clock::now() + refresh_interval;
      const auto now = Terminal::size();
      if (is_due || is_changed_ || now != size_) draw(terminal, now);
      const auto key = terminal.key(key_wait);
      if (key == Key::quit) return ExitCode::done;
      if (key && act(*key)) next = std::chrono::steady_clock::now();
    }
    return ExitCode::done;
  }

 private:
  enum class Kind { overview, handler, event };
  struct View {
    Kind kind = Kind::overview;
    std::string of;  ///< the handler, or the event's id
    std::size_t selected = 0;
    WatchScreen screen = {};
  };

  /// False: watching ends with `code_`.
  bool refresh() {
    View& view = views_.back();
    if (view.kind == Kind::overview) {
      const Answer answer = reader_.ask("status", given_);
      problem_ = answer.message;
      if (!is_worth_watching(answer.code)) {
        code_ = answer.code;
        return false;
      }
      if (answer.document.is_null()) return true;  // shows the last one
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      rates_.add(answer.document, std::chrono::duration_cast<std::chrono::milliseconds>(now));
      const Answer history = ask_daemon(settings_, "history", {}, history_timeout);
      view.screen = overview_screen(answer.document, history.document, rates_, look_);
    } else if (view.kind == Kind::handler) {
      const Answer dead = reader_.ask("dead list", {{"handler", {view.of}}, {"limit", {"50"}}});
      const Answer failures =
          reader_.ask("events failures", {{"handler", {view.of}}, {"since", {"1h"}}, {"limit", {"50"}}});
      problem_ = dead.document.is_object() ? "" : dead.message;
      view.screen = handler_screen(rows_of(dead), rows_of(failures), look_);
    } else {
      const Answer trace = reader_.ask("events trace", {{"id", {view.of}}});
      problem_ = trace.message;
      if (trace.document.is_object()) view.screen = text_screen(present_trace(trace.document, look_));
    }
    return true;
  }

  void draw(Terminal& terminal, const Terminal::Size& size) {
    size_ = size;
    look_.width = size.columns;
    is_changed_ = false;
    const View& view = views_.back();
    const std::string what = view.kind == Kind::overview  ? "inboxd"
                             : view.kind == Kind::handler ? "inboxd: handler " + one_line(view.of)
                                                          : "inboxd: event " + one_line(view.of);
    const std::string keys = view.kind == Kind::overview  ? "q quits, arrows choose, Enter opens a handler"
                             : view.kind == Kind::handler ? "Esc goes back, arrows choose, Enter opens an event"
                                                          : "Esc goes back, arrows scroll";
    const std::string foot = problem_.empty() ? keys : one_line(problem_) + " · " + keys;
    const std::string title = what + "   " + time_text(config::time_text(event::now()));
    terminal.show(framed(view.screen, view.selected, title, foot, size, look_));
  }

  /// True: the new view wants its content now.
  bool act(Key key) {
    View& view = views_.back();
    std::vector<std::string> openable;
    for (const auto& line : view.screen.lines) {
      if (!line.opens.empty()) openable.push_back(line.opens);
    }
    const std::size_t most = openable.empty() ? view.screen.lines.size() : openable.size() - 1;
    const std::size_t page = size_.lines > 6 ? size_.lines - 6 : 1;
    is_changed_ = true;
    switch (key) {
      case Key::up: view.selected -= std::min<std::size_t>(view.selected, 1); return false;
      case Key::down: view.selected = std::min(view.selected + 1, most); return false;
      case Key::page_up: view.selected -= std::min(view.selected, page); return false;
      case Key::page_down: view.selected = std::min(view.selected + page, most); return false;
      case Key::enter:
        if (openable.empty()) return false;
        views_.push_back({view.kind == Kind::overview ? Kind::handler : Kind::event,
                          openable[std::min(view.selected, most)]});
        return true;
      case Key::back:
        if (views_.size() > 1) views_.pop_back();
        problem_.clear();
        return true;
      case Key::quit:
      case Key::other: return false;
    }
    return false;
  }

  const config::Settings& settings_;
  Reader& reader_;
  Interrupt& interrupt_;
  const Given given_;
  Look look_;
  Terminal::Size size_ = Terminal::size();
  WatchedRates rates_;
  std::vector<View> views_{View{}};
  std::string problem_;
  bool is_changed_ = false;
  ExitCode code_ = ExitCode::done;
};

}  // namespace

ExitCode watch_status(const Session& session, const operations::Arguments& arguments) {
  if (session.json) {
    session.say("status: pass --watch or --json, not both");
    return ExitCode::usage;
  }
  const auto loaded = session.load_with([](std::string_view key) { return key.starts_with("database."); });
  if (!loaded) return ExitCode::configuration;
  Interrupt interrupt;
  Reader reader{session, loaded->settings, interrupt};
  Given given = arguments.given();
  given.erase("watch");
  if (session.output.look.width == 0 || !session.output.can_ask) return repeat(session, reader, interrupt, given);
  Terminal terminal;
  return Watch{session, loaded->settings, reader, interrupt, std::move(given)}.run(terminal);
}

}  // namespace inboxd::cli
