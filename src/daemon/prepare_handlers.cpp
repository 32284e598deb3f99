#include "daemon/prepare_handlers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "base/repeats.hpp"
#include "base/text.hpp"
#include "config/handler_connection.hpp"
#include "daemon/descriptors.hpp"
#include "daemon/predecessors.hpp"
#include "inbox/answer.hpp"
#include "inbox/connection_limits.hpp"
#include "inbox/database_error.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/local_events.hpp"
#include "inbox/repeated_registration.hpp"
#include "operations/handler_agreement.hpp"
#include "transaction/handler_transaction.hpp"
#include "webhook/endpoint.hpp"

namespace inboxd::daemon {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;

constexpr auto registration_retry_interval = 500ms;

/// Handlers with loaded plugins, by their index in the configuration.
using LoadedHandlers = std::map<std::size_t, dispatcher::HandlerSetup>;

/// The byte offset of a server's position, which counts characters from 1.
std::size_t byte_at(std::string_view text, std::uint32_t position) {
  std::size_t at = 0;
  for (std::uint32_t character = 1; character < position && at < text.size(); ++character) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

std::optional<Refusal> load_plugins(const config::Settings& settings, const config::Loaded& file,
                                    const std::map<std::size_t, std::string>& retired, plugin::Loader& plugins,
                                    inbox::Watchdog& watchdog, base::Logger& log, LoadedHandlers& out) {
  const auto database = transaction::database_describer(settings.database, watchdog, log);
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) {
    if (retired.contains(i)) continue;
    const config::Handler& handler = settings.handlers[i];
    RecordingDescriber describer{database.get()};
    auto loaded = plugins.load(config::with_connection(handler, settings.kafka), log, &describer);
    if (!loaded) {
      return Refusal{
          describer.is_missing() ? ExitCode::try_again : ExitCode::configuration,
          "handler " + handler.name + ": " + place_of_refusal(file, i, describer) + ": " +
              config::without_secrets(loaded.problem().message, file)};
    }
    out[i].settings = handler;
    out[i].instance = std::move(loaded).value();
  }
  return std::nullopt;
}

/// `before`: the registration that this process had, if any.
void log_registration(const inbox::Registered& registered, const inbox::Registered* before,
                      const config::Handler& handler, base::Logger& log) {
  if (registered.is_retired) {
    log.warn("daemon.handler_retired", {{"handler", registered.name},
                                        {"configured", handler.name},
                                        {"remedy", "inboxd handlers restore " + registered.name}});
    return;
  }
  if (registered.has_former_name) {
    log.warn("daemon.former_handler_name", {{"handler", registered.name}, {"configured", handler.name}});
  }
  if (before != nullptr && registered.handler_id != before->handler_id) {
    log.error("daemon.handler_readded", {{"handler", registered.name}});
  } else if (before != nullptr && registered.is_new && registered.since == before->since) {
    log.error("daemon.handler_restored", {{"handler", registered.name}});
  } else if (registered.is_new) {
    log.info("daemon.handler_added", {{"handler", registered.name}});
  }
  if (!registered.change.empty()) {
    log.warn("daemon.handler_changed", {{"handler", registered.name}, {"change", registered.change}});
  }
}

/// Registers the handlers, and reads their ids and pauses.
void register_all(inbox::Connection& connection, const config::Settings& settings,
                  const inbox::InstanceIdentity& instance, const std::vector<inbox::Registered>& before,
                  bool is_in_force, base::Logger& log, bool& is_done, LoadedHandlers& loaded,
                  PreparedHandlers& out) {
  const std::vector<config::Handler>& handlers = settings.handlers;
  const std::string actor = "daemon on " + instance.host;
  const auto registered = is_in_force ? inbox::repeat_registrations(connection, handlers, actor, before, instance)
                                      : inbox::register_handlers(connection, handlers, actor, before, instance);
  inbox::set_dead_letter_topics(connection, registered, settings.kafka.group, !is_in_force);
  is_done = true;
  std::set<std::int32_t> paused;
  for (const auto& known : inbox::read_routing(connection).handlers) {
    if (known.paused_reason) paused.insert(known.handler_id);
  }
  for (std::size_t i = 0; i < registered.size(); ++i) {
    log_registration(registered[i], inbox::find_registered(before, handlers[i]), handlers[i], log);
    const auto setup = loaded.find(i);
    // Without a setup it was restored just now: maintenance reports that, and handlers are prepared again.
    if (registered[i].is_retired || setup == loaded.end()) {
      out.retired.insert(registered[i].handler_id);
      continue;
    }
    setup->second.handler_id = registered[i].handler_id;
    setup->second.registered = registered[i];
    // Metrics and commands use the database's name for the handler.
    setup->second.settings.name = registered[i].name;
    setup->second.held = paused.contains(registered[i].handler_id);
    out.handlers.push_back(std::move(setup->second));
  }
}

/// Names live instances whose topics of a handler this registration has dropped.
void log_taken_topics(inbox::Connection& connection, const base::Uuid& self, const PreparedHandlers& prepared,
                      base::Logger& log) {
  const auto is_ours = [&](std::int32_t id) {
    return std::any_of(prepared.handlers.begin(), prepared.handlers.end(),
                       [&](const auto& setup) { return setup.handler_id == id && !setup.registered.change.empty(); });
  };
  for (const auto& other : operations::read_registered(connection)) {
    const auto lost = other.lost_topics();
    if (other.instance_id == self || lost.empty() || !is_ours(other.handler_id)) continue;
    log.warn("daemon.topics_taken", {{"handler", other.handler},
                                     {"topics", base::joined(lost)},
                                     {"instance", operations::name_of(other.worker)}});
  }
}

/// Registers the handlers, and retries while the COMMIT is in doubt or other sessions hold a lock. A second
/// registration changes nothing, and a reload must not be refused if all instances already route by it.
void register_until_certain(inbox::Connection& connection, const config::Settings& settings,
                            const inbox::InstanceIdentity& instance, const std::vector<inbox::Registered>& before,
                            bool is_in_force, const inbox::Watchdog& watchdog, base::Logger& log,
                            LoadedHandlers& loaded, PreparedHandlers& out) {
  std::optional<std::chrono::steady_clock::time_point> end;
  bool may_be_done = false;
  while (true) {
    const auto failure = inbox::database_failure_of(
        [&] { register_all(connection, settings, instance, before, is_in_force, log, may_be_done, loaded, out); });
    if (!failure) break;
    may_be_done = may_be_done || failure->fault == inbox::Fault::in_doubt;
    const bool may_repeat = may_be_done || failure->fault == inbox::Fault::retry;
    const auto now = std::chrono::steady_clock::now();
    // From the first failure on. A COMMIT without an answer lasted to the deadline, and the next attempt may take as
    // long.
    if (may_repeat && !end) end = now + 2 * settings.database.deadline;
    if (!may_repeat || failure->fault == inbox::Fault::stop || now >= *end || watchdog.must_end(now)) {
      out.refusal = refusal_of(*failure, "handlers could not be registered");
      return;
    }
    log.warn(may_be_done ? "daemon.registration_in_doubt" : "daemon.registration_waits", {{"error", failure->message}});
    std::this_thread::sleep_for(registration_retry_interval);
  }
  // `status` says the same, so a failure of the question does not matter.
  inbox::database_failure_of([&] { log_taken_topics(connection, instance.instance_id, out, log); });
}

/// A limit that is too low does not refuse the start: the workers that get a session do the work.
void look_at_limits(inbox::Connection& connection, int needed, base::Logger& log, PreparedHandlers& out) {
  const auto failure =
      inbox::database_failure_of([&] { out.low_limits = inbox::low_connection_limits(connection, needed); });
  if (failure) log.debug("daemon.limits_unread", {{"error", failure->message}});
  for (const std::string& low : out.low_limits) log.warn("daemon.connection_limit_low", {{"limit", low}});
}

std::vector<inbox::LocalTopic> local_topics_of(const config::Settings& settings) {
  const webhook::Endpoints endpoints = webhook::endpoints_of(settings);
  std::vector<inbox::LocalTopic> out;
  for (const config::Topic& topic : settings.topics) {
    if (topic.source != config::Source::local) continue;
    const auto endpoint = endpoints.find(topic.name);
    const bool id_decides = endpoint != endpoints.end() && endpoint->second.id_decides;
    out.push_back({topic.name, static_cast<std::int64_t>(topic.payload_limit), topic.deliver_at_limit, id_decides});
  }
  return out;
}

}  // namespace

std::unique_ptr<transaction::SqlResult> RecordingDescriber::describe(const transaction::SqlStatement& statement) {
  if (describer_ == nullptr) return nullptr;
  auto out = describer_->describe(statement);
  wrong_.reset();
  if (out != nullptr && out->error) wrong_ = Wrong{std::string{statement.text}, *out->error};
  return out;
}

bool RecordingDescriber::is_missing() const { return wrong_ && inbox::is_missing(wrong_->error.sqlstate); }

std::string place_of_refusal(const config::Loaded& file, std::size_t handler, const RecordingDescriber& asked) {
  const auto& settings = file.settings.handlers.at(handler).settings;
  if (!asked.wrong()) return config::place_of_setting(file, handler, "", 1, 1);
  const std::string& text = asked.wrong()->text;
  const auto setting =
      std::find_if(settings.begin(), settings.end(), [&](const auto& each) { return each.second == text; });
  if (setting == settings.end()) return config::place_of_setting(file, handler, "", 1, 1);
  const std::string_view before = std::string_view{text}.substr(0, byte_at(text, asked.wrong()->error.position));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = lines == 0 ? 0 : before.rfind('\n') + 1;
  return config::place_of_setting(file, handler, setting->first, static_cast<int>(lines) + 1,
                                  static_cast<int>(before.size() - line_begin) + 1);
}

inbox::InstanceIdentity identity_of(const base::Uuid& instance_id, const config::Settings& settings) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  inbox::InstanceIdentity out{instance_id, host.data(), static_cast<int>(getpid())};
  if (!settings.kafka.instance_id.empty()) out.member = settings.kafka.instance_id + " of " + settings.kafka.group;
  for (const config::Topic& topic : settings.topics) {
    out.topics.push_back(topic.name.empty() ? topic.pattern : topic.name);
  }
  return out;
}

int connections_needed(const std::vector<Writer>& writers, const config::Settings& settings) {
  int needed = settings.ingest_connections() + settings.other_connections();
  for (const Writer& writer : writers) needed += writer.concurrency;
  return needed;
}

std::optional<base::Problem> connections_problem(const std::vector<Writer>& writers, const config::Settings& settings) {
  const int needed = connections_needed(writers, settings);
  std::string list;
  for (const Writer& writer : writers) {
    list += (list.empty() ? "" : ", ") + writer.handler + ": " + std::to_string(writer.concurrency);
  }
  if (list.empty() || needed <= settings.database.connections) return std::nullopt;
  return base::Problem{"database.connections is " + std::to_string(settings.database.connections) + ", but " +
                       std::to_string(needed) +
                       " are needed: `concurrency` of each handler that writes in transactions (" + list +
                       "), ingest.connections (" + std::to_string(settings.ingest_connections()) + ") and " +
                       std::to_string(settings.other_connections()) + " more; raise it, or lower concurrency"};
}

PreparedHandlers prepare_handlers(inbox::Connection& connection, const config::Settings& settings,
                                  const config::Loaded& file, const inbox::InstanceIdentity& instance,
                                  plugin::Loader& plugins, inbox::Watchdog& watchdog, base::Logger& log,
                                  const std::vector<inbox::Registered>& before, bool is_in_force) {
  PreparedHandlers out;
  std::map<std::size_t, std::string> retired;
  std::optional<base::Problem> clash;
  const auto failure = inbox::database_failure_of([&] {
    retired = inbox::find_retired(connection, settings.handlers);
    clash = inbox::find_alias_clash(connection, settings.handlers);
    const auto read = inbox::find_local_clash(connection, local_topics_of(file.settings));
    if (read && !clash) {
      clash = base::Problem{"topic " + *read + " was read from Kafka into this database, so no local topic can have " +
                            "this name; choose another"};
    }
  });
  if (failure) out.refusal = refusal_of(*failure, "handlers could not be looked up");
  if (clash) out.refusal = Refusal{ExitCode::configuration, clash->message};
  if (out.refusal) return out;
  connection.close();  // makes room for the describer's connection
  LoadedHandlers loaded;
  out.refusal = load_plugins(settings, file, retired, plugins, watchdog, log, loaded);
  std::vector<Writer> writers;
  for (const auto& [place, setup] : loaded) {
    if (setup.instance->needs().sql) writers.push_back({setup.settings.name, setup.settings.concurrency});
  }
  if (const auto problem = connections_problem(writers, settings); problem && !out.refusal) {
    out.refusal = Refusal{ExitCode::configuration, problem->message};
  }
  if (const auto problem = descriptors_problem(settings); problem && !out.refusal) {
    out.refusal = Refusal{ExitCode::configuration, problem->message};
  }
  if (!out.refusal) {
    register_until_certain(connection, settings, instance, before, is_in_force, watchdog, log, loaded, out);
  }
  if (!out.refusal) {
    // After the handlers: an event that is enqueued from now on is routed to all of them.
    const auto undeclared =
        inbox::database_failure_of([&] { inbox::declare_local(connection, local_topics_of(file.settings)); });
    if (undeclared) out.refusal = refusal_of(*undeclared, "local topics could not be declared");
  }
  if (!out.refusal) look_at_limits(connection, connections_needed(writers, settings), log, out);
  for (auto& [place, setup] : loaded) {
    if (out.refusal && setup.instance) out.handlers.push_back(std::move(setup));  // the caller ends them
  }
  connection.close();  // makes room for the connection of --until-idle
  return out;
}

PreparedHandlers prepare(inbox::Connection& connection, const config::Loaded& file,
                         const inbox::InstanceIdentity& instance, plugin::Loader& plugins, bool migrate,
                         inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log) {
  const config::Settings& settings = file.settings;
  if (auto refusal = prepare_database(connection, settings, migrate, watchdog, notify, log)) {
    return {.refusal = std::move(refusal)};
  }
  const bool has_predecessor = end_predecessors(connection, instance, watchdog, log);
  notify.status("preparing handlers");
  const auto end = std::chrono::steady_clock::now() + settings.database.deadline;
  base::Repeats repeats;
  while (true) {
    auto prepared = prepare_handlers(connection, settings, file, instance, plugins, watchdog, log);
    const auto now = std::chrono::steady_clock::now();
    const bool may_appear = prepared.refusal && prepared.refusal->code == ExitCode::try_again;
    if (!may_appear || now >= end || watchdog.must_end(now)) {
      for (dispatcher::HandlerSetup& handler : prepared.handlers) handler.has_predecessor = has_predecessor;
      return prepared;
    }
    notify.status("waiting for names in a handler's statement: " + prepared.refusal->message);
    if (repeats.is_news(prepared.refusal->message)) {
      log.warn("daemon.waiting_for_statement", {{"reason", prepared.refusal->message}});
    }
    std::this_thread::sleep_for(registration_retry_interval);
  }
}

}  // namespace inboxd::daemon
