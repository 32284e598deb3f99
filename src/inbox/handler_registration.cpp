#include "inbox/handler_registration.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "base/uuid.hpp"
#include "config/registered_settings.hpp"
#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/repeated_registration.hpp"
#include "inbox/routing_lock.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;
using Effect = Connection::Access::Effect;

std::string start_text(const config::StartAt& start) {
  switch (start.kind) {
    case config::StartAt::Kind::beginning:
      return "beginning";
    case config::StartAt::Kind::time:
      return "time " + std::to_string(start.time_us);
    default:
      return "now";
  }
}

std::string mode_text(const config::Handler& handler) {
  switch (handler.mode) {
    case config::Mode::sequential:
      return "sequential";
    case config::Mode::batch:
      return "batch";
    case config::Mode::single:
      break;
  }
  return "single";
}

std::string scope_text(const config::Handler& handler) {
  return config::order_scope_of(handler) == config::OrderScope::handler ? "handler" : "partition";
}

/// The order_by of config::order_text: its fifth part, which may contain slashes. Empty if there is none.
std::string_view order_key_of(std::string_view order) {
  for (int i = 0; i < 4; ++i) {
    const auto slash = order.find('/');
    if (slash == std::string_view::npos) return "";
    order.remove_prefix(slash + 1);
  }
  return order;
}

std::int32_t random_id() {
  const auto bits = static_cast<std::uint64_t>(base::random_fence());
  return static_cast<std::int32_t>(bits % std::numeric_limits<std::int32_t>::max()) + 1;
}

/// A handler's row, as far as the configuration determines it.
struct Row {
  std::int32_t handler_id = 0;
  std::string name;
  std::vector<std::string> aliases, topics, types;
  bool is_retired = false;
  bool has_former_name = false;
  event::Microseconds since = 0;
  std::int64_t changed_under = 0;
  bool has_other_name = false;  ///< its name is that of another configured handler
  std::string mode, order_scope, order_settings;
};

std::string change_between(const Row& row, const config::Handler& handler) {
  std::string out;
  const auto say = [&](const char* what, const std::string& before, const std::string& now) {
    if (before != now) out.append(out.empty() ? "" : "; ").append(what).append(": ").append(before + " -> " + now);
  };
  say("name", row.name, handler.name);
  say("aliases", base::joined(row.aliases, "none"), base::joined(handler.aliases, "none"));
  say("topics", base::joined(row.topics, "all"), base::joined(handler.topics, "all"));
  say("mode", row.mode, mode_text(handler));
  if (handler.mode == config::Mode::sequential) say("order_scope", row.order_scope, scope_text(handler));
  if (row.mode == mode_text(handler)) say("order", row.order_settings, config::order_text(handler));
  say("types", base::joined(row.types, "all"), base::joined(handler.types, "all"));
  return out;
}

ArrayParameter ids_of(const std::vector<Registered>& handlers) {
  ArrayParameter out{Type::int4};
  for (const Registered& handler : handlers) out.add(handler.handler_id);
  return out;
}

/// Writes the handlers of a configuration to their rows. The first change starts a new routing version, upon which
/// ingesters read the handlers again.
class Registration {
 public:
  Registration(Connection::Access& access, pqxx::work& tx, const std::vector<config::Handler>& handlers,
               const std::string& actor, const InstanceIdentity* keeps_for = nullptr)
      : access_{access}, tx_{tx}, actor_{actor}, keeps_for_{keeps_for} {
    for (const config::Handler& handler : handlers) names_.add(handler.name);
  }

  std::vector<Registered> add_or_update_all(const std::vector<config::Handler>& handlers,
                                            const std::vector<Registered>& before) {
    std::vector<Registered> out;
    for (const auto& handler : handlers) out.push_back(add_or_update(handler, find_registered(before, handler)));
    return out;
  }

  Registered add_or_update(const config::Handler& handler, const Registered* before) {
    const auto row = find(handler, before);
    // Restored under its old version: see restore_registrations.
    const bool is_lost = before != nullptr && before->changed_under > 0 && before->handler == handler &&
                         (!row || row->changed_under < before->changed_under);
    old_version_ = is_lost ? std::optional{before->changed_under} : std::nullopt;
    if (!row) return add(handler, before);
    return row->has_other_name ? add(handler, nullptr) : update_row(*row, handler, before);
  }

  /// The handler's name in the database if it is retired.
  std::optional<std::string> retired_name(const config::Handler& handler) {
    auto row = find(handler, nullptr);
    return row && row->is_retired ? std::optional{std::move(row->name)} : std::nullopt;
  }

  /// An alias that is the name of another live handler.
  std::optional<std::string> clashing_alias(const config::Handler& handler) {
    const auto row = find(handler, nullptr);
    if (!row || row->is_retired) return std::nullopt;
    auto aliases = array_of(Type::text, handler.aliases);
    const auto rows =
        access_.run_in(tx_, statements::find_alias_clash, pqxx::params{aliases.finish(), row->handler_id});
    return rows.empty() ? std::nullopt : std::optional{rows[0][0].as<std::string>()};
  }

  /// In order. Rows that exist are restored first: in a database that lost commits, a row may have the name of a
  /// handler that was added later.
  std::vector<Registered> restore_all(const std::vector<Registered>& before) {
    const auto rows = access_.run_in(tx_, statements::known_handlers, pqxx::params{ids_of(before).finish()});
    std::set<std::int32_t> known;
    for (const auto& row : rows) known.insert(row[0].as<std::int32_t>());
    std::vector<Registered> out(before.size());
    for (const bool is_known : {true, false}) {
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (known.contains(before[i].handler_id) == is_known) out[i] = restore_one(before[i]);
      }
    }
    return out;
  }

  /// Without the settings that do not decide the order.
  Registered take_order(const Registered& own) {
    Registered out = own;
    const auto row = find(own.handler, &own);
    if (!row || row->handler_id != own.handler_id || row->is_retired) return out;
    config::Handler handler = own.handler;
    handler.name = row->name;
    handler.aliases = row->aliases;
    handler.topics = row->topics;
    handler.types = row->types;
    out.change = change_between(*row, handler);
    const std::int64_t version = update(*row, handler);
    if (!out.has_former_name) out.changed_under = version;
    return out;
  }

 private:
  Registered restore_one(const Registered& before) {
    old_version_ = before.changed_under;
    const auto row = find(before.handler, &before);
    if (!row) return add(before.handler, &before);
    const bool is_another = row->handler_id != before.handler_id;
    if (!is_another && row->changed_under < before.changed_under) return update_row(*row, before.handler, &before);
    Registered out = before;
    out.handler_id = row->handler_id;
    out.is_new = false;
    out.change.clear();
    return out;
  }

  Registered update_row(const Row& row, const config::Handler& handler, const Registered* before) {
    const bool was_lost = before != nullptr && row.changed_under < before->changed_under;
    if (row.is_retired && !was_lost) return leave_retired(row);
    // An older configuration: it must not undo the rename or other changes.
    if (row.has_former_name) return {row.handler_id, row.name, false, true, {}, row.since};
    if (!was_lost && keeps_row(row, before)) return leave_row(row, handler, before);
    if (row.is_retired) restore(row, handler, *before);
    Registered out{row.handler_id, handler.name, false, false, change_between(row, handler), row.since};
    // Also without a difference: ingesters that know the newer version wait for it.
    out.changed_under = out.change.empty() && !was_lost ? row.changed_under : update(row, handler);
    return out;
  }

  static Registered leave_retired(const Row& row) {
    Registered out{row.handler_id, row.name, false, row.has_former_name, {}, row.since};
    out.changed_under = row.changed_under;
    out.is_retired = true;
    return out;
  }

  /// Whether the row stays, because the configuration has not just been read.
  bool keeps_row(const Row& row, const Registered* before) {
    if (keeps_for_ == nullptr) return false;
    if (before != nullptr) return true;
    return access_
        .run_in(tx_, statements::has_newer_registration,
                pqxx::params{row.handler_id, keeps_for_->instance_id.text()})[0][0]
        .as<bool>();
  }

  static Registered leave_row(const Row& row, const config::Handler& handler, const Registered* before) {
    Registered out{row.handler_id, row.name, false, false, {}, row.since};
    if (change_between(row, handler).empty()) out.changed_under = row.changed_under;
    if (before == nullptr) return out;
    out = *before;
    out.is_new = out.is_retired = false;
    out.change.clear();
    return out;
  }

  /// The database has lost the restoration of a retired handler that this process runs: events stored since then were
  /// not routed to it.
  void restore(const Row& row, const config::Handler& handler, const Registered& before) {
    restore_handler(access_, tx_, row.handler_id, actor_, change_version());
    add_backfill(row.handler_id, handler, before.changed_under);
  }

  /// Starts a new routing version, once. Returns the version to store with the handler.
  std::int64_t change_version() {
    if (!version_) version_ = access_.run_in(tx_, statements::next_routing_version, {})[0][0].as<std::int64_t>();
    return old_version_.value_or(*version_);
  }

  std::optional<Row> find(const config::Handler& handler, const Registered* before) {
    auto aliases = array_of(Type::text, handler.aliases);
    const auto found =
        access_.run_in(tx_, statements::find_handler,
                       pqxx::params{handler.name, aliases.finish(), names_.finish(), before ? before->handler_id : 0});
    if (found.empty()) return std::nullopt;
    const auto row = found[0];
    Row out{row[0].as<std::int32_t>(), row[1].as<std::string>(),
            texts_of(row[2]),          texts_of(row[3]),
            texts_of(row[4]),          row[5].as<bool>(),
            row[6].as<bool>(),         row[7].as<event::Microseconds>(),
            row[8].as<std::int64_t>(), row[9].as<bool>(),
            row[10].as<std::string>(), row[11].as<std::string>(),
            row[12].as<std::string>()};
    // The name in a database that lost commits is not a newer name.
    if (before != nullptr && out.changed_under < before->changed_under) out.has_former_name = false;
    return out;
  }

  Registered add(const config::Handler& handler, const Registered* before) {
    auto aliases = array_of(Type::text, handler.aliases), topics = array_of(Type::text, handler.topics),
         types = array_of(Type::text, handler.types);
    Registered out{before != nullptr ? before->handler_id : random_id(), handler.name, true, false, {}};
    out.changed_under = change_version();
    const auto row = access_.run_in(
        tx_, statements::insert_handler,
        pqxx::params{handler.name, aliases.finish(), topics.finish(), types.finish(), start_text(handler.start), actor_,
                     out.handler_id, out.changed_under, mode_text(handler), scope_text(handler),
                     config::order_text(handler)});
    out.since = before != nullptr ? before->since : row[0][0].as<event::Microseconds>();
    add_history(out, handler, before != nullptr);
    return out;
  }

  /// Adds the stored events that `start` names. For a handler that the database had lost: all since it was new.
  void add_history(const Registered& registered, const config::Handler& handler, bool was_lost) {
    using Kind = config::StartAt::Kind;
    if (handler.start.kind == Kind::beginning) return add_backfill(registered.handler_id, handler, std::nullopt);
    const bool is_time = handler.start.kind == Kind::time;
    if (!is_time && !was_lost) return;
    add_backfill(registered.handler_id, handler, is_time ? handler.start.time_us : registered.since);
  }

  /// `from`: nullopt: from the beginning.
  void add_backfill(std::int32_t handler_id, const config::Handler& handler, std::optional<event::Microseconds> from) {
    auto topics = array_of(Type::text, handler.topics);
    access_.run_in(tx_, statements::insert_backfill, pqxx::params{handler_id, topics.finish(), from});
  }

  /// Returns the version stored with the handler.
  std::int64_t update(const Row& row, const config::Handler& handler) {
    auto aliases = array_of(Type::text, handler.aliases), topics = array_of(Type::text, handler.topics),
         types = array_of(Type::text, handler.types);
    const std::int64_t changed_under = change_version();
    const bool has_new_keys = order_key_of(row.order_settings) != order_key_of(config::order_text(handler));
    const bool changes_order =
        row.mode != mode_text(handler) || row.order_scope != scope_text(handler) || has_new_keys;
    // The pending events of mode single run in no order, unless they have to wait for a window.
    if (changes_order && (row.mode != "single" || handler.mode == config::Mode::batch)) {
      access_.run_in(tx_, statements::change_order,
                     pqxx::params{row.handler_id, mode_text(handler), scope_text(handler), has_new_keys});
    }
    access_.run_in(tx_, statements::update_handler,
                   pqxx::params{row.handler_id, handler.name, aliases.finish(), topics.finish(), types.finish(), actor_,
                                changed_under, mode_text(handler), scope_text(handler), config::order_text(handler)});
    return changed_under;
  }

  Connection::Access& access_;
  pqxx::work& tx_;
  const std::string& actor_;
  const InstanceIdentity* const keeps_for_;  ///< the process that repeats its registrations
  ArrayParameter names_{Type::text};         ///< of all configured handlers
  std::optional<std::int64_t> version_;      ///< the new version, once started
  std::optional<std::int64_t> old_version_;  ///< of the handler that is restored
};

/// As JSON: their registered settings by id.
std::string settings_of(const std::vector<Registered>& handlers) {
  std::string out;
  for (const Registered& each : handlers) {
    out += (out.empty() ? "\"" : ", \"") + std::to_string(each.handler_id) +
           "\": " + config::registered_settings(each.handler);
  }
  return "{" + out + "}";
}

void write_registration(Connection::Access& access, pqxx::work& tx, const InstanceIdentity& instance,
                        const std::vector<Registered>& handlers, bool is_repeated) {
  auto ids = ids_of(handlers);
  access.run_in(
      tx, statements::instance_registers,
      pqxx::params{instance.instance_id.text(), instance.host, INBOXD_VERSION, instance.process_id, ids.finish(),
                   settings_of(handlers), !is_repeated, instance.boot, instance.member});
}

/// Runs `write` with routing locked.
std::vector<Registered> registered_by(Connection& connection, const std::vector<config::Handler>& handlers,
                                      const std::string& actor, const std::optional<InstanceIdentity>& instance,
                                      bool is_repeated,
                                      const std::function<std::vector<Registered>(Registration&)>& write) {
  auto& access = connection.access();
  std::vector<Registered> out;
  access.transaction([&](pqxx::work& tx) {
    lock_routing(access, tx);
    const bool keeps = instance && is_repeated;
    Registration registration{access, tx, handlers, actor, keeps ? &*instance : nullptr};
    out = write(registration);
    for (std::size_t i = 0; i < handlers.size(); ++i) out[i].handler = handlers[i];
    if (instance) write_registration(access, tx, *instance, out, is_repeated);
    return true;
  });
  return out;
}

}  // namespace

std::vector<Registered> register_handlers(Connection& connection, const std::vector<config::Handler>& handlers,
                                          const std::string& actor, const std::vector<Registered>& before,
                                          const std::optional<InstanceIdentity>& instance) {
  return registered_by(connection, handlers, actor, instance, false,
                       [&](Registration& registration) { return registration.add_or_update_all(handlers, before); });
}

std::vector<Registered> repeat_registrations(Connection& connection, const std::vector<config::Handler>& handlers,
                                             const std::string& actor, const std::vector<Registered>& before,
                                             const InstanceIdentity& instance) {
  return registered_by(connection, handlers, actor, instance, true,
                       [&](Registration& registration) { return registration.add_or_update_all(handlers, before); });
}

std::vector<Registered> restore_registrations(Connection& connection, const std::vector<Registered>& registered,
                                              const std::string& actor, const InstanceIdentity& instance) {
  std::vector<config::Handler> handlers;
  for (const Registered& one : registered) handlers.push_back(one.handler);
  return registered_by(connection, handlers, actor, instance, true,
                       [&](Registration& registration) { return registration.restore_all(registered); });
}

std::vector<Registered> take_orphaned_orders(Connection& connection, const std::vector<Registered>& registered,
                                             const std::string& actor, const base::Uuid& instance_id) {
  auto& access = connection.access();
  std::vector<Registered> out = registered;
  for (Registered& one : out) one.change.clear();
  const pqxx::params self{instance_id.text()};
  if (access.run(statements::find_orphaned_orders, self, Effect::reads).empty()) return out;
  std::vector<config::Handler> handlers;
  for (const Registered& one : registered) handlers.push_back(one.handler);
  access.transaction([&](pqxx::work& tx) {
    lock_routing(access, tx);
    Registration registration{access, tx, handlers, actor};
    for (const auto& row : access.run_in(tx, statements::find_orphaned_orders, self)) {
      const auto is_it = [&](const Registered& one) { return one.handler_id == row[0].as<std::int32_t>(); };
      const auto found = std::find_if(out.begin(), out.end(), is_it);
      if (found != out.end()) *found = registration.take_order(*found);
    }
    return true;
  });
  return out;
}

const Registered* find_registered(const std::vector<Registered>& registered, const config::Handler& handler) {
  const auto called = [&](std::string_view name) {
    return std::find_if(registered.begin(), registered.end(),
                        [&](const Registered& one) { return one.name == name || one.handler.name == name; });
  };
  auto found = called(handler.name);
  for (const std::string& alias : handler.aliases) {
    if (found == registered.end()) found = called(alias);
  }
  return found == registered.end() ? nullptr : &*found;
}

bool are_registered(Connection& connection, const std::vector<Registered>& handlers) {
  if (handlers.empty()) return true;
  auto ids = ids_of(handlers);
  ArrayParameter versions{Type::int8};
  for (const Registered& handler : handlers) versions.add(handler.changed_under);
  return connection.access()
      .run(statements::are_registered, pqxx::params{ids.finish(), versions.finish()}, Effect::reads)[0][0]
      .as<bool>();
}

std::map<std::size_t, std::string> find_retired(Connection& connection, const std::vector<config::Handler>& handlers) {
  auto& access = connection.access();
  std::map<std::size_t, std::string> out;
  access.transaction([&](pqxx::work& tx) {
    Registration registration{access, tx, handlers, ""};
    for (std::size_t i = 0; i < handlers.size(); ++i) {
      if (auto name = registration.retired_name(handlers[i])) out.emplace(i, std::move(*name));
    }
    return false;  // nothing to commit
  });
  return out;
}

std::optional<base::Problem> find_alias_clash(Connection& connection, const std::vector<config::Handler>& handlers) {
  auto& access = connection.access();
  std::optional<base::Problem> out;
  access.transaction([&](pqxx::work& tx) {
    Registration registration{access, tx, handlers, ""};
    for (const config::Handler& handler : handlers) {
      const auto alias = registration.clashing_alias(handler);
      if (!alias) continue;
      out = base::Problem{"handler " + handler.name + ": its alias " + *alias +
                          " is another handler in the database, with deliveries of its own; remove the alias, or drop "
                          "the deliveries: inboxd handlers retire " +
                          *alias};
      break;
    }
    return false;  // nothing to commit
  });
  return out;
}

void set_dead_letter_topics(Connection& connection, const std::vector<Registered>& handlers, const std::string& group,
                            bool is_new) {
  ArrayParameter ids{Type::int4}, topics{Type::text};
  for (const Registered& each : handlers) {
    const std::string& topic = each.handler.dead_letter_topic;
    if (each.has_former_name) continue;  // a newer configuration decides
    ids.add(each.handler_id);
    topic.empty() ? topics.add_null() : topics.add(topic);
  }
  connection.access().run(statements::set_dead_letter_topics,
                          pqxx::params{ids.finish(), topics.finish(), group, is_new});
}

}  // namespace inboxd::inbox
