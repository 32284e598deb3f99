// Dead-letters each event with everything that it was given as the message, so that a test can read it from the
// verdict. Other keys name another verdict: done, skip, retry (after 1.5 s), away, pause. Logs a line for each call.
#include <inboxd/handler.hpp>

namespace {

using namespace std::chrono_literals;

std::string shown(inboxd::MaybeText text) { return text ? "'" + std::string{*text} + "'" : "null"; }

std::string shown(std::optional<inboxd::Time> time) {
  return time ? std::to_string(time->time_since_epoch().count()) : "none";
}

std::string shown(const std::vector<inboxd::Header>& headers) {
  std::string out;
  for (const inboxd::Header& header : headers) {
    out.append(out.empty() ? "" : ",").append(header.name).append(":").append(shown(header.value));
  }
  return "[" + out + "]";
}

struct Echo : inboxd::Handler {
  explicit Echo(const inboxd::Settings& settings)
      : name{settings.handler()},
        log{settings.log()},
        word{settings.text("word", "none")},
        number{settings.number("number", 0)},
        flag{settings.boolean("flag", false)},
        pause{settings.duration("pause", 0ms)} {}

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
    if (event.key() == "done") return inboxd::done();
    if (event.key() == "skip") return inboxd::skipped();
    if (event.key() == "away") return inboxd::away(700ms, "it does not answer", "away");
    if (event.key() == "pause") return inboxd::pause("it has gone", "gone");
    if (event.key() == "retry") return inboxd::retry(1500ms, "later", "later.please");
    log.info("saw " + event.id());
    const bool has_time = call.time_left() > 0ms;
    return inboxd::dead("handler=" + name + " word=" + word + " number=" + std::to_string(number) +
                            " flag=" + (flag ? "true" : "false") + " pause=" + std::to_string(pause.count()) +
                            " id=" + event.id() + " source_id=" + event.source_id() + " type=" + shown(event.type()) +
                            " source=" + shown(event.source()) + " subject=" + shown(event.subject()) +
                            " key=" + shown(event.key()) + " payload=" + shown(event.payload()) +
                            " at=" + std::string{event.topic()} + "/" + std::to_string(event.partition()) + "/" +
                            std::to_string(event.offset()) + " attempt=" + std::to_string(event.attempt()) +
                            " occurred=" + shown(event.occurred_at()) + " kafka=" + shown(event.kafka_timestamp()) +
                            " received=" + shown(event.received_at()) + " headers=" + shown(event.headers()) +
                            " a=" + shown(event.header("a")) + " in_time=" + (has_time ? "yes" : "no") +
                            " sql=" + (call.extension("inboxd.sql/1") == nullptr ? "no" : "yes") +
                            " trace=" + shown(call.traceparent(event)) + "/" + shown(call.tracestate(event)),
                        "echo");
  }

  std::string name;
  inboxd::Log log;
  std::string word;
  std::int64_t number;
  bool flag;
  inboxd::Milliseconds pause;
};

}  // namespace

INBOXD_HANDLER(Echo, "echo", "1.0")
