#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/abi/inboxd/async.h"
#include "plugin/abi/inboxd/handler.h"
#include "plugin/abi/inboxd/json.h"
#include "plugin/abi/inboxd/trace.h"
#include "plugin/call_sql.hpp"
#include "plugin/instance.hpp"

namespace inboxd::plugin {

/// A call of a plugin's `handle`: the events in the ABI's form, the functions that the plugin may call meanwhile, and
/// its verdicts. Borrows events and cancellation. Not thread-safe, except for functions that the header marks [any].
class Call final {
 public:
  Call(std::span<const Delivered> events, const Cancellation& cancellation,
       std::chrono::steady_clock::time_point deadline, transaction::HandlerSql* sql = nullptr,
       std::string_view handler = {});
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  inboxd_call* face() { return &face_; }
  const inboxd_event* const* events() const { return pointers_.get(); }
  std::size_t count() const { return delivered_.size(); }
  /// Null if the plugin did not ask for SQL.
  CallSql* sql() { return sql_ ? &*sql_ : nullptr; }

  /// The verdict of all events that have none: the handler threw.
  void fail_rest(std::string_view error_class, std::string_view message);

  /// The call stays open until the plugin finishes it, which hands the verdicts over and destroys this object.
  static void open(std::unique_ptr<Call> call, Instance::Done done);

  /// The verdicts in the order of the events. An event without a verdict gets a verdict that says so. Once, after
  /// `handle`.
  std::vector<event::Verdict> take_verdicts();

  /// The ABI's struct, with the way back to the Call.
  struct Face : inboxd_call {
    Call* call;
  };

 private:
  static void say(inboxd_call* face, std::size_t index, const inboxd_verdict* verdict);
  static const inboxd_header* headers(inboxd_call* face, std::size_t index, std::size_t* count);
  static bool is_cancelled(const inboxd_call* face);
  static std::int64_t deadline_ms_left(const inboxd_call* face);
  static const void* extension(inboxd_call* face, const char* name);
  static void finish(inboxd_call* face);
  static inboxd_bytes body(inboxd_call* face, std::size_t index, inboxd_bytes* problem);
  static inboxd_bytes traceparent(inboxd_call* face, std::size_t index);
  static inboxd_bytes tracestate(inboxd_call* face, std::size_t index);
  static const inboxd_publish_span* begin_publish(inboxd_call* face, std::size_t index, inboxd_bytes system,
                                                  inboxd_bytes destination);
  static void end_publish(inboxd_call* face, const inboxd_publish_span* span, bool is_sent, inboxd_bytes error_class);

  void fill(std::size_t index);
  void settle(std::size_t index, event::Verdict verdict);
  void settle_rest(const event::Verdict& verdict);
  const std::vector<inboxd_header>& headers_at(std::size_t index);
  std::string no_verdict_message() const;

  std::span<const Delivered> delivered_;
  const Cancellation& cancellation_;
  std::chrono::steady_clock::time_point deadline_;
  std::optional<CallSql> sql_;
  Face face_;
  std::unique_ptr<inboxd_event[]> events_;
  std::unique_ptr<const inboxd_event*[]> pointers_;
  std::vector<event::Verdict> verdicts_;
  std::vector<bool> settled_;
  std::size_t unsettled_;
  Instance::Done done_;  ///< empty: the call ends when `handle` returns
  std::vector<std::unique_ptr<std::vector<inboxd_header>>> headers_;  ///< empty until the plugin asks for headers
  std::vector<std::unique_ptr<std::string>> bodies_;  ///< JSON that was unescaped
  std::size_t stray_index_ = INBOXD_THE_REST;  ///< the last index out of range that a verdict named
};

/// A plugin's verdict, checked: an invalid verdict becomes a retry of class `bad-verdict`. Texts are cut to their
/// limits and made valid for the database.
event::Verdict verdict_of(const inboxd_verdict* said);

/// A plugin's error class, cut to its limit; invalid characters become `_`.
std::string class_of(inboxd_bytes bytes);

}  // namespace inboxd::plugin
