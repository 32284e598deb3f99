#include "plugin/call.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "base/text.hpp"
#include "envelope/body.hpp"
#include "event/headers.hpp"
#include "event/json_text.hpp"
#include "plugin/bytes.hpp"
#include "plugin/publish_spans.hpp"
#include "trace/producer_context.hpp"

namespace inboxd::plugin {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The size of a verdict in version 1.0, the smallest of this major version.
constexpr std::size_t smallest_verdict = offsetof(inboxd_verdict, message) + sizeof(inboxd_bytes);

event::Verdict failed(std::string_view error_class, std::string message) {
  return {event::Verdict::Kind::retry, std::nullopt, std::string{error_class}, std::move(message)};
}

event::Verdict bad_verdict(const std::string& why) {
  return failed("bad-verdict", "the handler's verdict is invalid: " + why);
}

std::string message_of(std::string_view text) {
  const std::string message = base::shorten(text, INBOXD_MESSAGE_LIMIT);
  return base::is_database_text(message) ? message : base::escape_controls(message);
}

}  // namespace

std::string class_of(inboxd_bytes bytes) {
  std::string out{to_view(bytes).substr(0, INBOXD_ERROR_CLASS_LIMIT)};
  for (char& c : out) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!fits) c = '_';
  }
  return out;
}

event::Verdict verdict_of(const inboxd_verdict* said) {
  if (said == nullptr) return bad_verdict("it is NULL");
  if (said->struct_size < smallest_verdict) {
    return bad_verdict("struct_size is " + std::to_string(said->struct_size) + ", it must be sizeof(inboxd_verdict)");
  }
  if (said->outcome == INBOXD_DONE) return {};
  if (said->outcome == INBOXD_SKIPPED) return {event::Verdict::Kind::skipped, std::nullopt, {}, {}};
  if (said->outcome < INBOXD_DONE || said->outcome > INBOXD_DEFER) {
    return bad_verdict("the outcome is " + std::to_string(said->outcome) +
                       ", it must be one of INBOXD_DONE to INBOXD_DEFER");
  }
  using Kind = event::Verdict::Kind;
  event::Verdict verdict{said->outcome == INBOXD_PAUSE ? Kind::pause : Kind::dead, std::nullopt,
                         class_of(said->error_class), message_of(to_view(said->message))};
  if (said->outcome == INBOXD_DEAD || said->outcome == INBOXD_PAUSE) return verdict;
  if (said->delay_ms < INBOXD_POLICY_DELAY || said->delay_ms > INBOXD_MAX_DELAY_MS) {
    return bad_verdict("the delay is " + std::to_string(said->delay_ms) + " ms, it must be -1 or 0 to " +
                       std::to_string(INBOXD_MAX_DELAY_MS));
  }
  verdict.kind = said->outcome == INBOXD_AWAY    ? Kind::away
                 : said->outcome == INBOXD_DEFER ? Kind::defer
                                                 : Kind::retry;
  if (said->delay_ms != INBOXD_POLICY_DELAY) verdict.delay = milliseconds{said->delay_ms};
  return verdict;
}

Call::Call(std::span<const Delivered> events, const Cancellation& cancellation, steady_clock::time_point deadline,
           transaction::HandlerSql* sql, std::string_view handler)
    : delivered_{events},
      cancellation_{cancellation},
      deadline_{deadline},
      face_{{sizeof(inboxd_call), 0, say, headers, is_cancelled, deadline_ms_left, extension}, this},
      events_{std::make_unique_for_overwrite<inboxd_event[]>(events.size())},
      pointers_{std::make_unique_for_overwrite<const inboxd_event*[]>(events.size())},
      verdicts_(events.size()),
      settled_(events.size()),
      unsettled_{events.size()} {
  if (sql != nullptr) sql_.emplace(*sql, events, handler);
  for (std::size_t i = 0; i < events.size(); ++i) fill(i);
}

void Call::fill(std::size_t index) {
  const Delivered& from = delivered_[index];
  const event::Event& source = *from.event;
  inboxd_event& to = events_[index];
  pointers_[index] = &to;
  to.struct_size = sizeof(inboxd_event);
  to.attempt = from.attempt;
  std::memcpy(to.event_id, source.event_id.bytes.data(), sizeof to.event_id);
  to.source_id = to_bytes(source.source_id);
  to.event_type = to_bytes(source.event_type);
  to.source = to_bytes(source.source);
  to.subject = to_bytes(source.subject);
  to.key = to_bytes(source.key);
  to.payload = to_bytes(source.payload);
  to.topic = to_bytes(from.topic);
  to.offset = source.offset;
  to.partition = from.partition;
  to.has_headers = source.headers && !source.headers->empty() ? 1 : 0;
  to.occurred_at = source.occurred_at.value_or(INBOXD_NO_TIME);
  to.kafka_timestamp = source.kafka_timestamp.value_or(INBOXD_NO_TIME);
  to.received_at = source.received_at == 0 ? INBOXD_NO_TIME : source.received_at;
}

void Call::settle(std::size_t index, event::Verdict verdict) {
  if (!settled_[index]) --unsettled_;
  settled_[index] = true;
  verdicts_[index] = std::move(verdict);
}

void Call::settle_rest(const event::Verdict& verdict) {
  for (std::size_t i = 0; unsettled_ > 0 && i < count(); ++i) {
    if (!settled_[i]) settle(i, verdict);
  }
}

void Call::fail_rest(std::string_view error_class, std::string_view message) {
  settle_rest(failed(error_class, message_of(message)));
}

std::vector<event::Verdict> Call::take_verdicts() {
  if (unsettled_ > 0) {
    const bool was_cancelled = is_cancelled(&face_);
    settle_rest(was_cancelled ? failed("cancelled", "the call was cancelled before the handler reached this event")
                              : failed("no-verdict", no_verdict_message()));
  }
  return std::move(verdicts_);
}

std::string Call::no_verdict_message() const {
  std::string message = "the handler returned without a verdict for this event";
  if (stray_index_ == INBOXD_THE_REST) return message;
  return message + "; it gave one for index " + std::to_string(stray_index_) + ", but the call has " +
         std::to_string(count()) + " events";
}

void Call::say(inboxd_call* face, std::size_t index, const inboxd_verdict* verdict) {
  Call& self = *static_cast<Face*>(face)->call;
  if (index == INBOXD_THE_REST) {
    self.settle_rest(verdict_of(verdict));
  } else if (index < self.count()) {
    self.settle(index, verdict_of(verdict));
  } else {
    self.stray_index_ = index;
  }
}

const inboxd_header* Call::headers(inboxd_call* face, std::size_t index, std::size_t* count) {
  Call& self = *static_cast<Face*>(face)->call;
  *count = 0;
  if (index >= self.count() || self.events_[index].has_headers == 0) return nullptr;
  const std::vector<inboxd_header>& headers = self.headers_at(index);
  *count = headers.size();
  return headers.empty() ? nullptr : headers.data();
}

const std::vector<inboxd_header>& Call::headers_at(std::size_t index) {
  if (headers_.empty()) headers_.resize(count());
  if (!headers_[index]) {
    auto unpacked = std::make_unique<std::vector<inboxd_header>>();
    for (const event::Header& header : event::unpack_headers(*delivered_[index].event->headers)) {
      unpacked->push_back({to_bytes(header.name), to_bytes(header.value)});
    }
    headers_[index] = std::move(unpacked);
  }
  return *headers_[index];
}

bool Call::is_cancelled(const inboxd_call* face) {
  const Call& self = *static_cast<const Face*>(face)->call;
  return self.cancellation_.requested.load(std::memory_order_relaxed) || steady_clock::now() >= self.deadline_;
}

std::int64_t Call::deadline_ms_left(const inboxd_call* face) {
  const Call& self = *static_cast<const Face*>(face)->call;
  const auto left = std::chrono::ceil<milliseconds>(self.deadline_ - steady_clock::now());
  return std::max<std::int64_t>(left.count(), 0);
}

const void* Call::extension(inboxd_call* face, const char* name) {
  static constexpr inboxd_trace trace_part{sizeof(inboxd_trace), 0,          traceparent, tracestate,
                                           begin_publish,        end_publish};
  static constexpr inboxd_async async_part{sizeof(inboxd_async), 0, finish};
  static constexpr inboxd_json json_part{sizeof(inboxd_json), 0, body};
  const std::string_view wanted{name == nullptr ? "" : name};
  if (wanted == INBOXD_TRACE) return &trace_part;
  if (wanted == INBOXD_JSON) return &json_part;
  if (wanted == INBOXD_ASYNC && static_cast<Face*>(face)->call->done_) return &async_part;
  if (wanted == INBOXD_OUTBOX) return sql_of_call(face) != nullptr ? outbox_call_part() : nullptr;
  return wanted == INBOXD_SQL && sql_of_call(face) != nullptr ? sql_call_part() : nullptr;
}

inboxd_bytes Call::body(inboxd_call* face, std::size_t index, inboxd_bytes* problem) {
  Call& self = *static_cast<Face*>(face)->call;
  const auto fail = [problem](std::string_view why) {
    if (problem != nullptr) *problem = to_bytes(why);
    return inboxd_bytes{nullptr, 0};
  };
  if (index >= self.count()) return fail("no event of the call has this index");
  const event::MaybeBytes& payload = self.delivered_[index].event->json();
  if (!payload) return fail("it is null, a tombstone");
  auto storage = std::make_unique<std::string>();
  const event::JsonText json = envelope::body_in(*payload, self.delivered_[index].unwrap, *storage);
  if (!storage->empty()) self.bodies_.push_back(std::move(storage));
  return json.is_json() ? to_bytes(json.text) : fail(event::sentence_of(json.problem));
}

void Call::open(std::unique_ptr<Call> call, Instance::Done done) { call.release()->done_ = std::move(done); }

void Call::finish(inboxd_call* face) {
  const std::unique_ptr<Call> self{static_cast<Face*>(face)->call};
  const auto done = std::move(self->done_);
  done(self->take_verdicts());
}

CallSql* sql_of_call(inboxd_call* call) { return static_cast<Call::Face*>(call)->call->sql(); }

inboxd_bytes Call::traceparent(inboxd_call* face, std::size_t index) {
  const Call& self = *static_cast<Face*>(face)->call;
  if (index >= self.count()) return {nullptr, 0};
  const Delivered& event = self.delivered_[index];
  if (!event.traceparent.empty()) return to_bytes(event.traceparent);
  return to_bytes(trace::producer_texts(*event.event).traceparent);
}

inboxd_bytes Call::tracestate(inboxd_call* face, std::size_t index) {
  constexpr std::size_t trace_at = 3, trace_length = 32;
  const Call& self = *static_cast<Face*>(face)->call;
  if (index >= self.count()) return {nullptr, 0};
  const Delivered& event = self.delivered_[index];
  const auto texts = trace::producer_texts(*event.event);
  // tracestate belongs to the producer's trace and travels with no other.
  const bool is_another =
      !event.traceparent.empty() && texts.traceparent &&
      event.traceparent.substr(trace_at, trace_length) != texts.traceparent->substr(trace_at, trace_length);
  return is_another ? inboxd_bytes{nullptr, 0} : to_bytes(texts.tracestate);
}

// These two never throw through the plugin's frames: without memory the span is missing.
const inboxd_publish_span* Call::begin_publish(inboxd_call* face, std::size_t index, inboxd_bytes system,
                                               inboxd_bytes destination) {
  const Call& self = *static_cast<Face*>(face)->call;
  if (index >= self.count() || self.delivered_[index].publishing == nullptr) return nullptr;
  try {
    return self.delivered_[index].publishing->begin(self.delivered_[index], to_view(system), to_view(destination));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Call::end_publish(inboxd_call* face, const inboxd_publish_span* span, bool is_sent, inboxd_bytes error_class) {
  const Call& self = *static_cast<Face*>(face)->call;
  const auto traced = std::find_if(self.delivered_.begin(), self.delivered_.end(),
                                   [](const Delivered& event) { return event.publishing != nullptr; });
  if (traced == self.delivered_.end()) return;
  try {
    const std::string failure = class_of(error_class);
    traced->publishing->end(span, is_sent ? "" : failure.empty() ? "_OTHER" : failure);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace inboxd::plugin
