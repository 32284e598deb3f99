#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "event/event.hpp"
#include "inbox/handler_sql.hpp"

namespace inboxd::plugin {

class PublishSpans;

/// An event as a handler gets it: with where it came from and which attempt this is (1 = first).
struct Delivered {
  const event::Event* event = nullptr;
  std::string_view topic;
  std::int32_t partition = 0;
  std::int32_t attempt = 1;
  bool has_content = true;            ///< payload and headers are here, not left in the database
  std::string_view traceparent = {};  ///< of the daemon's own span of this attempt; empty: there is none
  PublishSpans* publishing = nullptr;  ///< of the call, where that span is; null: there is none
};

/// What a handler said of one event. Where it said nothing or nonsense this room says it, as a retry of the error class
/// `no-verdict`, `cancelled` (no verdict, and the call was cancelled or past its deadline: the handler did not get to
/// the event; no failure at shutdown), `bad-verdict` or `exception`.
struct Verdict {
  enum class Kind { done, retry, dead };
  Kind kind = Kind::done;
  std::optional<std::chrono::milliseconds> delay;  ///< retry: the handler's own wish, else the policy's backoff
  std::string error_class;                         ///< short, dotted (`timeout`, `validation.amount`); may be empty
  std::string message;
};

/// Tells a running call that nobody waits for it any more. Set by any thread, read by the handler's.
struct Cancellation {
  std::atomic<bool> requested{false};
};

/// A line that a plugin logged while it was asked what it is, before there was a handler to log for.
struct Remark {
  base::LogLevel level = base::LogLevel::info;
  std::string text;
};

/// A loaded shared object: version, extensions it asked for, where it came from. Never unloaded.
struct Description {
  std::string path;
  std::string name;
  std::string version;
  int abi_major = 0;
  int abi_minor = 0;
  std::vector<std::string> extensions;  ///< named extensions the plugin offers or asks for
  std::vector<Remark> remarks;          ///< what it logged meanwhile
};

/// What remains to be told of a call in a transaction (its spans) until it is known what became of it. Destroyed
/// untold: the call was undone, whatever was said in it. The call's thread.
class Aftermath {
 public:
  virtual ~Aftermath() = default;
  /// The transaction is committed, with these verdicts on the call's events.
  virtual void settled(std::span<const Verdict> verdicts) = 0;
};

/// One configured handler made of a plugin. `handle` may be called by several worker threads at once (the ABI says so);
/// everything else by one.
class Instance {
 public:
  virtual ~Instance() = default;

  /// What the plugin's table says that it needs.
  struct Needs {
    bool sql = false;          ///< a transaction around its calls: use handle_in
    bool no_payloads = false;  ///< events without payload and headers will do
  };
  virtual Needs needs() const { return {}; }

  /// One call: a verdict for each event, in their order. Blocks as long as the handler takes; never throws. `deadline`
  /// is when the call ought to have ended (monotonic).
  virtual std::vector<Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
                                      std::chrono::steady_clock::time_point deadline) = 0;
  /// The same for one that needs SQL, with what it runs its statements through. `aftermath` may be given something to
  /// be told when the transaction has ended.
  virtual std::vector<Verdict> handle_in(inbox::HandlerSql&, std::span<const Delivered> events,
                                         const Cancellation& cancellation,
                                         std::chrono::steady_clock::time_point deadline,
                                         std::unique_ptr<Aftermath>& /*aftermath*/) {
    return handle(events, cancellation, deadline);
  }
};

/// Where plugins named without a slash are looked for.
struct SearchPath {
  std::vector<std::string> folders;
};

/// The folder that the daemon's own plugins are in: $INBOXD_PLUGIN_PATH, beside the executable (`plugins/`), or
/// <prefix>/lib/inboxd.
SearchPath default_search_path();

/// Loads, checks (ownership, ABI, symbol) and describes a plugin without making an instance.
base::Result<Description> inspect(const std::string& plugin, const SearchPath& where);

/// Loads a plugin and makes an instance of it with its settings; the problem is a sentence with what would be right.
/// The instance writes to the logger as long as it lives.
/// `describer`: for what the plugin wants to know of its statements while the instance is made; null: no database.
base::Result<std::unique_ptr<Instance>> load(const config::Handler& handler, const SearchPath& where, base::Logger& log,
                                             inbox::SqlDescriber* describer = nullptr);

}  // namespace inboxd::plugin
