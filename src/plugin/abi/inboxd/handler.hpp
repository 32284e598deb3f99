// SPDX-License-Identifier: Apache-2.0
//
// Handlers in C++17 or newer. <inboxd/handler.h> has the contract. This veneer adds a class instead of a table,
// optional views instead of pointers, outcomes as values, and exceptions that end at the boundary.
//
//     #include <inboxd/handler.hpp>
//     using namespace std::chrono_literals;
//
//     struct Receipt : inboxd::Handler {
//       explicit Receipt(const inboxd::Settings& settings) : folder{settings.text("folder")} {}
//
//       inboxd::Outcome handle(inboxd::Call&, const inboxd::Event& event) override {
//         if (!event.payload()) return inboxd::dead("no payload", "validation.payload");
//         if (!write_receipt(event)) return inboxd::retry(30s, "the disk is full", "disk.full");
//         return inboxd::done();
//       }
//       std::string folder;
//     };
//     INBOXD_HANDLER(Receipt, "receipt", "1.0")
//
// Each configured handler is an object of its own; several threads call its `handle` at once. Shared state needs a lock
// or an atomic.
#pragma once

#include <inboxd/async.h>
#include <inboxd/basics.hpp>
#include <inboxd/handler.h>
#include <inboxd/json.h>
#include <inboxd/settings.hpp>
#include <inboxd/outbox.hpp>
#include <inboxd/sql.hpp>
#include <inboxd/trace.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace inboxd {

// ---- Outcomes -------------------------------------------------------------------------------------------------------

// The outcome of an event. Made by the functions below.
struct Outcome {
  std::int32_t kind = INBOXD_DONE;
  std::optional<Milliseconds> delay;  // of a retry; none: the configured backoff
  std::string message;                // for people; no secrets. Only the first line is logged: no data of events there
  std::string error_class;            // short and dotted, for rules and dashboards: `timeout`, `validation.amount`
};

inline Outcome done() { return {}; }

// Finished: the event is not for this handler. Listed and counted as such; no failure.
inline Outcome skipped() { return {INBOXD_SKIPPED, {}, {}, {}}; }

// Failed; try again after the configured backoff.
inline Outcome retry(std::string message, std::string error_class = {}) {
  return {INBOXD_RETRY, std::nullopt, std::move(message), std::move(error_class)};
}

// Failed; try again after this delay. A negative delay is 0.
inline Outcome retry(Milliseconds delay, std::string message, std::string error_class = {}) {
  return {INBOXD_RETRY, std::max(delay, Milliseconds{0}), std::move(message), std::move(error_class)};
}

// Failed, and no retry can help: dead-letter it.
inline Outcome dead(std::string message, std::string error_class = {}) {
  return {INBOXD_DEAD, std::nullopt, std::move(message), std::move(error_class)};
}

// Not handled: a service that every event needs does not answer. No attempt is counted, and no call of the handler
// begins in this instance for that long.
inline Outcome away(Milliseconds delay, std::string message, std::string error_class = {}) {
  return {INBOXD_AWAY, std::max(delay, Milliseconds{0}), std::move(message), std::move(error_class)};
}

// Not handled: an operator must act. No attempt is counted; the handler is paused in all instances, with this reason.
inline Outcome pause(std::string message, std::string error_class = {}) {
  return {INBOXD_PAUSE, std::nullopt, std::move(message), std::move(error_class)};
}

// Not yet: try this event again after this delay. No attempt is counted, so only `expire_after` ends it.
inline Outcome defer(Milliseconds delay, std::string message, std::string error_class = {}) {
  return {INBOXD_DEFER, std::max(delay, Milliseconds{0}), std::move(message), std::move(error_class)};
}

// ---- Events ---------------------------------------------------------------------------------------------------------

struct Header {
  std::string_view name;
  MaybeText value;
};

// An event of a call: a view, valid until `handle` returns.
class Event {
 public:
  Event(inboxd_call* call, std::size_t index, const inboxd_event* event) : call_{call}, index_{index}, event_{event} {}

  // A UUID, the same on every attempt: the idempotency key for effects outside the database.
  std::string id() const {
    char text[INBOXD_ID_TEXT_SIZE];
    inboxd_format_id(event_->event_id, text);
    return text;
  }
  // The event id as 16 bytes, for a parameter of type uuid.
  Uuid uuid() const {
    Uuid out;
    std::copy(std::begin(event_->event_id), std::end(event_->event_id), out.bytes.begin());
    return out;
  }
  // The producer's text of the id.
  std::string source_id() const {
    return event_->source_id.data == nullptr ? id() : std::string{detail::view(event_->source_id)};
  }

  std::string_view type() const { return detail::view(event_->event_type); }
  MaybeText source() const { return detail::maybe(event_->source); }
  MaybeText subject() const { return detail::maybe(event_->subject); }
  MaybeText key() const { return detail::maybe(event_->key); }
  MaybeText payload() const { return detail::maybe(event_->payload); }  // nullopt: a tombstone

  std::string_view topic() const { return detail::view(event_->topic); }
  std::int32_t partition() const { return event_->partition; }
  std::int64_t offset() const { return event_->offset; }
  std::int32_t attempt() const { return event_->attempt; }  // 1 is the first

  std::optional<Time> occurred_at() const { return detail::time(event_->occurred_at); }
  std::optional<Time> kafka_timestamp() const { return detail::time(event_->kafka_timestamp); }
  std::optional<Time> received_at() const { return detail::time(event_->received_at); }

  // The JSON in the payload, byte for byte but without a byte order mark or the prefix of a schema registry. nullopt: a
  // tombstone, or no JSON, or a daemon without INBOXD_JSON. Only on the thread of the call.
  MaybeText json() const {
    const auto* const part = static_cast<const inboxd_json*>(call_->extension(call_, INBOXD_JSON));
    return part == nullptr ? std::nullopt : detail::maybe(part->body(call_, index_, nullptr));
  }

  // In their order, repeated names included. Like `header`, only on the thread of the call.
  std::vector<Header> headers() const {
    std::size_t count = 0;
    const inboxd_header* const all = call_->headers(call_, index_, &count);
    std::vector<Header> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) out.push_back({detail::view(all[i].name), detail::maybe(all[i].value)});
    return out;
  }
  // The value of the last header of this name; nullopt: none, or null.
  MaybeText header(std::string_view name) const {
    std::size_t count = 0;
    const inboxd_header* const all = call_->headers(call_, index_, &count);
    while (count > 0) {
      if (detail::view(all[--count].name) == name) return detail::maybe(all[count].value);
    }
    return std::nullopt;
  }

  std::size_t index() const { return index_; }
  const inboxd_event& raw() const { return *event_; }

 private:
  inboxd_call* call_;
  std::size_t index_;
  const inboxd_event* event_;
};

// The events of a call, in their order.
class Events {
 public:
  Events(inboxd_call* call, const inboxd_event* const* events, std::size_t count)
      : call_{call}, events_{events}, count_{count} {}

  std::size_t size() const { return count_; }
  Event operator[](std::size_t index) const { return {call_, index, events_[index]}; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Event;
    using difference_type = std::ptrdiff_t;
    using pointer = const Event*;
    using reference = Event;

    Iterator(const Events* events, std::size_t index) : events_{events}, index_{index} {}
    Event operator*() const { return (*events_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const Events* events_;
    std::size_t index_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, count_}; }

 private:
  inboxd_call* call_;
  const inboxd_event* const* events_;
  std::size_t count_;
};

// ---- A call ---------------------------------------------------------------------------------------------------------

class Call {
 public:
  Call(const inboxd_host* host, inboxd_call* call) : host_{host}, call_{call} {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // True if the outcomes are no longer wanted. A slow handler checks now and then.
  bool is_cancelled() const { return call_->is_cancelled(call_); }
  // Until the call's deadline; 0 once it has passed.
  Milliseconds time_left() const { return Milliseconds{call_->deadline_ms_left(call_)}; }
  Log log() const { return Log{host_}; }

  // Sets the outcome of an event. For `handle_batch`; `handle` returns it.
  void settle(const Event& event, const Outcome& outcome) { say(event.index(), outcome); }
  // Sets the outcome of all events that have none.
  void settle_rest(const Outcome& outcome) { say(INBOXD_THE_REST, outcome); }

  // SQL in the transaction that also records the outcomes, for plugins that name INBOXD_SQL in INBOXD_HANDLER.
  Sql sql() {
    const auto* const found = static_cast<const inboxd_sql*>(extension(INBOXD_SQL));
    if (found == nullptr) {
      throw std::logic_error{"the plugin has no SQL; write INBOXD_HANDLER(Type, \"name\", \"version\", INBOXD_SQL)"};
    }
    return Sql{found, call_};
  }

  // Messages in the same transaction, for plugins that name INBOXD_OUTBOX in INBOXD_HANDLER. In `handle` they belong to
  // its event. `handle_batch` names the event: then a repeated message has the same id.
  Outbox outbox() { return outbox_of(current_); }
  Outbox outbox(const Event& event) { return outbox_of(event.index()); }
  // For Handler::handle_batch: the event whose messages `outbox()` publishes.
  void set_current(const Event& event) { current_ = event.index(); }

 private:
  Outbox outbox_of(std::size_t index) {
    const auto* const found = static_cast<const inboxd_outbox*>(extension(INBOXD_OUTBOX));
    if (found == nullptr) {
      throw std::logic_error{
          "the plugin has no outbox; write INBOXD_HANDLER(Type, \"name\", \"version\", INBOXD_OUTBOX)"};
    }
    return Outbox{found, call_, index};
  }

 public:

  // The event's W3C trace context, for the `traceparent` header of the handler's own requests.
  MaybeText traceparent(const Event& event) {
    const inboxd_trace* const part = trace();
    return part == nullptr ? std::nullopt : detail::maybe(part->traceparent(call_, event.index()));
  }
  MaybeText tracestate(const Event& event) {
    const inboxd_trace* const part = trace();
    return part == nullptr ? std::nullopt : detail::maybe(part->tracestate(call_, event.index()));
  }
  // The span of a message published for the event. `system`: `kafka`, `rabbitmq`; `destination`: a topic or queue.
  PublishSpan publish_span(const Event& event, std::string_view system, std::string_view destination) {
    return PublishSpan{call_, trace(), event.index(), system, destination};
  }

  // The call's part of a named extension; null if this daemon lacks it.
  const void* extension(const char* name) { return call_->extension(call_, name); }
  inboxd_call* raw() { return call_; }

 private:
  const inboxd_trace* trace() { return static_cast<const inboxd_trace*>(extension(INBOXD_TRACE)); }
  void say(std::size_t index, const Outcome& outcome) {
    inboxd_say(call_, index, outcome.kind, outcome.delay ? outcome.delay->count() : INBOXD_POLICY_DELAY,
               detail::bytes(outcome.error_class), detail::bytes(outcome.message));
  }

  const inboxd_host* host_;
  inboxd_call* call_;
  std::size_t current_ = INBOXD_THE_REST;
};

// ---- The handler ----------------------------------------------------------------------------------------------------

// Override `handle`, or `handle_batch` for the events of a call together. An exception becomes a retry of class
// `exception` with its text.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler() = default;

  virtual Outcome handle(Call&, const Event&) {
    throw std::logic_error{"the handler overrides neither handle nor handle_batch; override one of them"};
  }

  // By default calls `handle` for each event until the call is cancelled. An exception does not stop the rest. Only the
  // SQL writes of events that failed are undone.
  virtual void handle_batch(Call& call, const Events& events) {
    const auto* const sql = static_cast<const inboxd_sql*>(call.extension(INBOXD_SQL));
    for (const Event event : events) {
      if (event.index() > 0 && call.is_cancelled()) return;
      std::optional<Savepoint> before;  // the daemon undoes the writes of a single event
      if (sql != nullptr && events.size() > 1) before.emplace(call.sql().savepoint());
      call.set_current(event);
      Outcome outcome = guarded(call, event);
      const auto is_finished = [&] { return outcome.kind == INBOXD_DONE || outcome.kind == INBOXD_SKIPPED; };
      if (before && is_finished() && sql->state(call.raw()) == INBOXD_SQL_FAILED) {
        outcome = retry("the handler returned done although a statement had failed", "sql.25P02");
      }
      if (before && is_finished()) before->keep();
      call.settle(event, outcome);
    }
  }

 private:
  Outcome guarded(Call& call, const Event& event) {
    try {
      return handle(call, event);
    } catch (const SqlError& error) {
      return retry(error.what(), error.error_class());
    } catch (const std::exception& thrown) {
      return retry(thrown.what(), "exception");
    } catch (...) {
      return retry("the handler threw an exception that is not a std::exception", "exception");
    }
  }
};

// A call of an asynchronous handler. It is open until `finish`, which its end implies: events without an outcome are
// retried then. Not thread-safe: at most one thread at a time.
class OpenCall {
 public:
  OpenCall(const inboxd_host* host, inboxd_call* call, const inboxd_event* const* events, std::size_t count)
      : call_{host, call}, events_{call, events, count} {}
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;
  ~OpenCall() { finish(); }

  Call& call() { return call_; }
  const Events& events() const { return events_; }

  // The call's events are gone afterwards.
  void finish() {
    if (is_finished_) return;
    is_finished_ = true;
    static_cast<const inboxd_async*>(call_.extension(INBOXD_ASYNC))->finish(call_.raw());
  }

 private:
  Call call_;
  Events events_;
  bool is_finished_ = false;
};

// A handler whose calls stay open after `begin` has returned; see <inboxd/async.h>. For plugins that name INBOXD_ASYNC
// in INBOXD_HANDLER. A single thread calls `begin`. An exception becomes a retry, as above.
class AsyncHandler {
 public:
  AsyncHandler() = default;
  AsyncHandler(const AsyncHandler&) = delete;
  AsyncHandler& operator=(const AsyncHandler&) = delete;
  virtual ~AsyncHandler() = default;

  virtual void begin(std::unique_ptr<OpenCall>& call) = 0;
};

namespace detail {

// The table's functions for a class derived from Handler. They never throw.
template <class Type>
struct INBOXD_HIDDEN Adapter {
  struct Instance {
    Instance(const inboxd_host* its_host, const Settings& settings) : host{its_host}, handler{settings} {}
    const inboxd_host* host;
    Type handler;
  };

  static void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) noexcept {
    Instance* instance = nullptr;
    try {
      const Settings settings{host, config};
      instance = new Instance{host, settings};
      settings.finish();
      return instance;
    } catch (const std::exception& thrown) {
      std::snprintf(error, error_size, "%s", thrown.what());
    } catch (...) {
      std::snprintf(error, error_size, "the constructor threw an exception that is not a std::exception");
    }
    delete instance;
    return nullptr;
  }

  static void handle(void* pointer, inboxd_call* raw, const inboxd_event* const* events, size_t count) noexcept {
    Instance* const instance = static_cast<Instance*>(pointer);
    if constexpr (std::is_base_of_v<AsyncHandler, Type>) {
      begin(*instance, raw, events, count);
    } else {
      call_now(*instance, raw, events, count);
    }
  }

  static void destroy(void* pointer) noexcept { delete static_cast<Instance*>(pointer); }

 private:
  static void begin(Instance& instance, inboxd_call* raw, const inboxd_event* const* events, size_t count) {
    std::unique_ptr<OpenCall> open;
    bool is_made = false;
    std::string message = "the handler threw an exception that is not a std::exception";
    try {
      open = std::make_unique<OpenCall>(instance.host, raw, events, count);
      is_made = true;
      return instance.handler.begin(open);
    } catch (const std::exception& thrown) {
      message = thrown.what();
    } catch (...) {
    }
    if (open || !is_made) settle_rest(raw, message.c_str());
    if (!is_made) static_cast<const inboxd_async*>(raw->extension(raw, INBOXD_ASYNC))->finish(raw);
  }

  static void call_now(Instance& instance, inboxd_call* raw, const inboxd_event* const* events, size_t count) {
    Call call{instance.host, raw};
    try {
      instance.handler.handle_batch(call, Events{raw, events, count});
    } catch (const SqlError& error) {
      inboxd_retry(raw, INBOXD_THE_REST, INBOXD_POLICY_DELAY, error.error_class().c_str(), error.what());
    } catch (const std::exception& thrown) {
      settle_rest(raw, thrown.what());
    } catch (...) {
      settle_rest(raw, "the handler threw an exception that is not a std::exception");
    }
  }

  static void settle_rest(inboxd_call* call, const char* message) {
    inboxd_retry(call, INBOXD_THE_REST, INBOXD_POLICY_DELAY, "exception", message);
  }
};

template <class Type, class... Names>
INBOXD_HIDDEN const inboxd_plugin* table(const char* name, const char* version, Names... needs) {
  static const char* const needed[] = {needs..., nullptr};
  static const inboxd_plugin plugin = {sizeof(inboxd_plugin), INBOXD_ABI_MAJOR,        INBOXD_ABI_MINOR,
                                       name,                  version,                 needed,
                                       Adapter<Type>::create, Adapter<Type>::handle,   Adapter<Type>::destroy};
  return &plugin;
}

}  // namespace detail
}  // namespace inboxd

// Makes the class the plugin of this shared object: INBOXD_HANDLER(Type, "name", "version"), followed by the names of
// the extensions that it requires. Once, at namespace scope.
#define INBOXD_HANDLER(Type, ...)                                                              \
  extern "C" INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* /*host*/) { \
    return inboxd::detail::table<Type>(__VA_ARGS__);                                           \
  }
