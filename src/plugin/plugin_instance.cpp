// A handler's instance: created, called and destroyed through the ABI.
#include "plugin/plugin_instance.hpp"

#include <array>
#include <exception>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "plugin/bytes.hpp"
#include "plugin/call.hpp"
#include "plugin/host.hpp"

namespace inboxd::plugin {
namespace {

constexpr std::size_t reason_bytes = 2048;  // for the reason why a plugin refuses its settings

class PluginInstance final : public Instance {
 public:
  PluginInstance(const inboxd_plugin* table, std::unique_ptr<HandlerHost> host, void* instance)
      : table_{table}, host_{std::move(host)}, instance_{instance} {}
  ~PluginInstance() override { table_->destroy(instance_); }
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  std::vector<event::Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
                                     std::chrono::steady_clock::time_point deadline) override {
    return call_with(nullptr, events, cancellation, deadline);
  }
  std::vector<event::Verdict> handle_in(transaction::HandlerSql& sql, std::span<const Delivered> events,
                                        const Cancellation& cancellation,
                                        std::chrono::steady_clock::time_point deadline,
                                        std::unique_ptr<PendingSpans>&) override {
    return call_with(&sql, events, cancellation, deadline);
  }
  void start(std::span<const Delivered> events, const Cancellation& cancellation,
             std::chrono::steady_clock::time_point deadline, Done done) override {
    auto made = std::make_unique<Call>(events, cancellation, deadline);
    Call& call = *made;
    Call::open(std::move(made), std::move(done));
    // The plugin may finish the call, which destroys it, before `handle` returns. An exception, which the ABI forbids,
    // ends the process: the call may be gone or not.
    table_->handle(instance_, call.face(), call.events(), call.count());
  }
  Needs needs() const override {
    return {needs_named(INBOXD_SQL) || needs_named(INBOXD_OUTBOX), needs_named(INBOXD_SQL_WITHOUT_PAYLOADS),
            needs_named(INBOXD_ASYNC)};
  }

 private:
  bool needs_named(std::string_view wanted) const {
    for (const char* const* name = table_->needs; name != nullptr && *name != nullptr; ++name) {
      if (*name == wanted) return true;
    }
    return false;
  }

  std::vector<event::Verdict> call_with(transaction::HandlerSql* sql, std::span<const Delivered> events,
                                        const Cancellation& cancellation,
                                        std::chrono::steady_clock::time_point deadline) {
    Call call{events, cancellation, deadline, sql, host_->handler};
    if (events.empty()) return {};
    try {
      table_->handle(instance_, call.face(), call.events(), call.count());
    } catch (const std::exception& thrown) {  // against the ABI, but no reason to end the daemon
      call.fail_rest("exception", thrown.what());
    } catch (...) {
      call.fail_rest("exception", "the handler threw an exception that is not a std::exception");
    }
    return call.take_verdicts();
  }

  const inboxd_plugin* table_;
  std::unique_ptr<HandlerHost> host_;  ///< the plugin keeps its address
  void* instance_;
};

std::vector<inboxd_setting> to_settings(const config::PluginSettings& settings) {
  std::vector<inboxd_setting> out;
  out.reserve(settings.size());
  for (const auto& [name, value] : settings) out.push_back({to_bytes(name), to_bytes(value)});
  return out;
}

/// The text in a plugin's buffer, up to a 0 byte or the end.
std::string reason_in(std::span<const char> buffer) {
  const std::string_view text{buffer.data(), buffer.size()};
  const std::string_view reason = text.substr(0, text.find('\0'));
  return reason.empty() ? "it refuses the handler's settings and gave no reason" : base::escape_controls(reason);
}

/// The plugin's own pointer, or the reason why there is none.
base::Result<void*> create(const inboxd_plugin* table, const HandlerHost& host, const config::Handler& handler) {
  const std::vector<inboxd_setting> settings = to_settings(handler.settings);
  const inboxd_config config{sizeof(inboxd_config), static_cast<std::uint32_t>(handler.events_per_call),
                             to_bytes(handler.name), settings.data(), settings.size()};
  std::array<char, reason_bytes> reason{};
  try {
    if (void* const instance = table->create(&host, &config, reason.data(), reason.size())) return instance;
  } catch (...) {
    return base::Problem{
        "its create threw an exception; it must return NULL and write the reason into the error buffer"};
  }
  return base::Problem{reason_in(reason)};
}

}  // namespace

base::Result<std::unique_ptr<Instance>> make_instance(const inboxd_plugin* table, const config::Handler& handler,
                                                      base::Logger& log, transaction::SqlDescriber* describer) {
  auto host = std::make_unique<HandlerHost>(log, handler.name, describer);
  const auto instance = create(table, *host, handler);
  host->forget_describer();
  if (!instance) {
    return base::Problem{"plugin " + handler.plugin + ": " + instance.problem().message};
  }
  return std::unique_ptr<Instance>{std::make_unique<PluginInstance>(table, std::move(host), instance.value())};
}

}  // namespace inboxd::plugin
