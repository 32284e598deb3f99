#include "plugin/traced_handler.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plugin/publish_spans.hpp"
#include "trace/trail.hpp"

namespace inboxd::plugin {
namespace {

using trace::Span;

/// A traced event of a call.
struct Marked {
  std::size_t index = 0;
  trace::Trail trail;
  trace::SpanId span{};
  std::string traceparent;
};

std::string_view name_of(event::Verdict::Kind kind) {
  switch (kind) {
    case event::Verdict::Kind::done:
      return "done";
    case event::Verdict::Kind::retry:
      return "retry";
    case event::Verdict::Kind::dead:
      return "dead";
    case event::Verdict::Kind::skipped:
      return "skipped";
    case event::Verdict::Kind::away:
      return "away";
    case event::Verdict::Kind::pause:
      return "pause";
    case event::Verdict::Kind::defer:
      return "deferred";
  }
  return "done";
}

void describe(const event::Verdict& verdict, Span& span) {
  span.outcome = name_of(verdict.kind);
  if (verdict.is_finished()) return;
  span.error_type = verdict.error_class.empty() ? "_OTHER" : verdict.error_class;
  span.failure = verdict.message;
}

/// The spans of a call's events until their outcome is known.
class Spans final : public PendingSpans {
 public:
  explicit Spans(std::shared_ptr<trace::Tracer> tracer) : tracer_{std::move(tracer)} {}
  ~Spans() override {
    for (Made& one : made_) one.span.outcome = "undone";
    send();
  }

  void add(std::size_t index, Span span) { made_.push_back({index, std::move(span)}); }
  void settled(std::span<const event::Verdict> verdicts) override {
    for (Made& one : made_) {
      if (one.index < verdicts.size()) describe(verdicts[one.index], one.span);
    }
    send();
  }

 private:
  struct Made {
    std::size_t index = 0;  ///< into the call's events
    Span span;
  };
  void send() {
    std::vector<Span> spans;
    spans.reserve(made_.size());
    for (Made& one : std::exchange(made_, {})) spans.push_back(std::move(one.span));
    tracer_->add(std::move(spans));
  }

  const std::shared_ptr<trace::Tracer> tracer_;
  std::vector<Made> made_;
};

class TracedInstance final : public Instance {
 public:
  TracedInstance(std::unique_ptr<Instance> instance, TracedHandler handler, std::shared_ptr<trace::Tracer> tracer)
      : instance_{std::move(instance)}, handler_{std::move(handler)}, tracer_{std::move(tracer)} {}

  /// The trace context is in the headers, so they are needed even if the handler does without.
  Needs needs() const override {
    Needs out = instance_->needs();
    out.no_payloads = false;
    return out;
  }

  std::vector<event::Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
                                     std::chrono::steady_clock::time_point deadline) override {
    std::unique_ptr<PendingSpans> spans;
    auto verdicts = with_spans(
        events, [&](std::span<const Delivered> told) { return instance_->handle(told, cancellation, deadline); },
        spans);
    if (spans) spans->settled(verdicts);
    return verdicts;
  }
  void start(std::span<const Delivered> events, const Cancellation& cancellation,
             std::chrono::steady_clock::time_point deadline, Done done) override {
    auto marked = mark(events);
    if (marked.empty()) return instance_->start(events, cancellation, deadline, std::move(done));
    auto open = std::make_shared<Open>(*this, events, std::move(marked));
    const std::span<const Delivered> told = open->told;
    instance_->start(told, cancellation, deadline,
                     [this, open = std::move(open), done = std::move(done)](std::vector<event::Verdict> verdicts) {
                       open->publishing.reset();
                       spans_of(open->events, open->marked, open->begin)->settled(verdicts);
                       done(std::move(verdicts));
                     });
  }
  /// Verdicts inside a transaction count once it is committed: the spans wait for that.
  std::vector<event::Verdict> handle_in(transaction::HandlerSql& sql, std::span<const Delivered> events,
                                        const Cancellation& cancellation,
                                        std::chrono::steady_clock::time_point deadline,
                                        std::unique_ptr<PendingSpans>& pending_spans) override {
    std::unique_ptr<PendingSpans> inner;
    return with_spans(
        events,
        [&](std::span<const Delivered> told) { return instance_->handle_in(sql, told, cancellation, deadline, inner); },
        pending_spans);
  }

 private:
  template <class Handle>
  std::vector<event::Verdict> with_spans(std::span<const Delivered> events, Handle handle,
                                         std::unique_ptr<PendingSpans>& pending_spans) {
    const std::vector<Marked> marked = mark(events);
    if (marked.empty()) return handle(events);
    const auto begin = std::chrono::system_clock::now();
    std::optional<PublishSpans> publishing{std::in_place, *tracer_, handler_.name};
    auto verdicts = handle(tell(events, marked, *publishing));
    publishing.reset();  // spans of messages end within the event's
    pending_spans = spans_of(events, marked, begin);
    return verdicts;
  }

  /// What an open call borrows.
  struct Open {
    Open(const TracedInstance& instance, std::span<const Delivered> its_events, std::vector<Marked> its_marked)
        : events{its_events},
          marked{std::move(its_marked)},
          publishing{std::in_place, *instance.tracer_, instance.handler_.name},
          told{tell(events, marked, *publishing)} {}
    std::span<const Delivered> events;
    std::vector<Marked> marked;
    std::optional<PublishSpans> publishing;
    std::vector<Delivered> told;
    std::chrono::system_clock::time_point begin = std::chrono::system_clock::now();
  };

  /// The spans of a call that ends now.
  std::unique_ptr<PendingSpans> spans_of(std::span<const Delivered> events, std::span<const Marked> marked,
                                         std::chrono::system_clock::time_point begin) const {
    const auto end = std::chrono::system_clock::now();
    auto spans = std::make_unique<Spans>(tracer_);
    for (const Marked& one : marked.first(tracer_->room(marked.size()))) {
      const Delivered& from = events[one.index];
      Span span = trace::handle_span(one.trail, one.span, *from.event, {from.topic, from.partition, handler_.group},
                                     handler_.name, from.attempt);
      span.begin = begin;
      span.end = end;
      spans->add(one.index, std::move(span));
    }
    return spans;
  }

  static std::vector<Delivered> tell(std::span<const Delivered> events, std::span<const Marked> marked,
                                     PublishSpans& publishing) {
    std::vector<Delivered> told{events.begin(), events.end()};
    for (const Marked& one : marked) {
      told[one.index].traceparent = one.traceparent;
      told[one.index].publishing = &publishing;
    }
    return told;
  }

  std::vector<Marked> mark(std::span<const Delivered> events) const {
    std::vector<Marked> out;
    for (std::size_t i = 0; i < events.size(); ++i) {
      auto trail = trace::trail_of(*events[i].event, tracer_->settings());
      if (!trail) continue;
      const trace::SpanId id = trace::random_span_id();
      const std::string text = trace::traceparent_of({trail->trace, id, true});
      out.push_back({i, std::move(*trail), id, text});
    }
    return out;
  }

  const std::unique_ptr<Instance> instance_;
  const TracedHandler handler_;
  const std::shared_ptr<trace::Tracer> tracer_;
};

}  // namespace

std::unique_ptr<Instance> traced(std::unique_ptr<Instance> instance, TracedHandler handler,
                                 std::shared_ptr<trace::Tracer> tracer) {
  return std::make_unique<TracedInstance>(std::move(instance), std::move(handler), std::move(tracer));
}

}  // namespace inboxd::plugin
