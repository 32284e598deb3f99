// Plugins from the daemon's side: load one, describe it, make an instance, call it.
#include "plugin/instance.hpp"

#include <array>
#include <exception>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "plugin/bytes.hpp"
#include "plugin/call.hpp"
#include "plugin/host.hpp"
#include "plugin/library.hpp"
#include "plugin/plugin.hpp"

namespace inboxd::plugin {
namespace {

constexpr std::size_t reason_bytes = 2048;  // room for the sentence with which a plugin refuses its settings

class PluginInstance final : public Instance {
 public:
  PluginInstance(const inboxd_plugin* table, std::unique_ptr<HandlerHost> host, void* instance)
      : table_{table}, host_{std::move(host)}, instance_{instance} {}
  ~PluginInstance() override { table_->destroy(instance_); }
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  std::vector<Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
                              std::chrono::steady_clock::time_point deadline) override {
    return call_with(nullptr, events, cancellation, deadline);
  }
  std::vector<Verdict> handle_in(inbox::HandlerSql& sql, std::span<const Delivered> events,
                                 const Cancellation& cancellation, std::chrono::steady_clock::time_point deadline,
                                 std::unique_ptr<Aftermath>&) override {
    return call_with(&sql, events, cancellation, deadline);
  }
  Needs needs() const override { return {needs_named(INBOXD_SQL), needs_named(INBOXD_SQL_WITHOUT_PAYLOADS)}; }

 private:
  bool needs_named(std::string_view wanted) const {
    for (const char* const* name = table_->needs; name != nullptr && *name != nullptr; ++name) {
      if (*name == wanted) return true;
    }
    return false;
  }

  std::vector<Verdict> call_with(inbox::HandlerSql* sql, std::span<const Delivered> events,
                                 const Cancellation& cancellation, std::chrono::steady_clock::time_point deadline) {
    Call call{events, cancellation, deadline, sql};
    if (events.empty()) return {};
    try {
      table_->handle(instance_, call.face(), call.events(), call.count());
    } catch (const std::exception& thrown) {  // against the rules, but no reason to end the daemon
      call.fail_rest("exception", thrown.what());
    } catch (...) {
      call.fail_rest("exception", "something that is no std::exception left the handler");
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

/// What the plugin wrote into its buffer, up to the 0 byte that it may have forgotten.
std::string reason_in(std::span<const char> buffer) {
  const std::string_view text{buffer.data(), buffer.size()};
  const std::string_view reason = text.substr(0, text.find('\0'));
  return reason.empty() ? "the plugin refuses it and gave no reason" : base::escape_controls(reason);
}

/// The plugin's own pointer, or why there is none.
base::Result<void*> create(const inboxd_plugin* table, const HandlerHost& host, const config::Handler& handler) {
  const std::vector<inboxd_setting> settings = to_settings(handler.settings);
  const inboxd_config config{sizeof(inboxd_config), 0, to_bytes(handler.name), settings.data(), settings.size()};
  std::array<char, reason_bytes> reason{};
  try {
    if (void* const instance = table->create(&host, &config, reason.data(), reason.size())) return instance;
  } catch (...) {
    return base::Problem{"an exception left the plugin's create; it must return NULL and say what is wrong"};
  }
  return base::Problem{reason_in(reason)};
}

}  // namespace

base::Result<Description> inspect(const std::string& plugin, const SearchPath& where) {
  auto library = open_library(plugin, where);
  if (!library) return library.problem();
  const inboxd_plugin* const table = library.value().table;
  Description description{library.value().path,
                          table->name,
                          table->version,
                          table->abi_major,
                          table->abi_minor,
                          {},
                          std::move(library.value().remarks)};
  if (table->needs != nullptr) {
    for (const char* const* name = table->needs; *name != nullptr; ++name) description.extensions.emplace_back(*name);
  }
  return description;
}

base::Result<std::unique_ptr<Instance>> make_instance(const inboxd_plugin* table, const config::Handler& handler,
                                                      base::Logger& log, inbox::SqlDescriber* describer) {
  auto host = std::make_unique<HandlerHost>(log, handler.name, describer);
  const auto instance = create(table, *host, handler);
  host->forget_describer();
  if (!instance) {
    return base::Problem{"plugin " + handler.plugin + ": " + instance.problem().message};
  }
  return std::unique_ptr<Instance>{std::make_unique<PluginInstance>(table, std::move(host), instance.value())};
}

base::Result<std::unique_ptr<Instance>> load(const config::Handler& handler, const SearchPath& where, base::Logger& log,
                                             inbox::SqlDescriber* describer) {
  const auto library = open_library(handler.plugin, where);
  if (!library) return library.problem();
  for (const Remark& remark : library.value().remarks) {
    log.write(remark.level, "handler: " + remark.text, {{"handler", handler.name}},
              "handler: a line while it was loaded");
  }
  return make_instance(library.value().table, handler, log, describer);
}

}  // namespace inboxd::plugin
