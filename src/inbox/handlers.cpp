#include "inbox/handlers.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "base/uuid.hpp"
#include "inbox/arrays.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/operations_handlers.hpp"
#include "inbox/routing_lock.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;
using Effect = Connection::Access::Effect;

constexpr int forget_bite_rows = 5'000;
/// A bite of history is no heavier than a batch.
constexpr std::int64_t backfill_bite_bytes = 8 << 20;

std::vector<std::string> texts(const pqxx::field& field) {
  const auto array = field.as_sql_array<std::string>();
  return {array.cbegin(), array.cend()};
}

std::string start_text(const config::StartAt& start) {
  switch (start.kind) {
    case config::StartAt::Kind::beginning: return "beginning";
    case config::StartAt::Kind::time: return "time " + std::to_string(start.time_us);
    default: return "now";
  }
}

std::int32_t random_id() {
  const auto bits = static_cast<std::uint64_t>(base::random_fence());
  return static_cast<std::int32_t>(bits % std::numeric_limits<std::int32_t>::max()) + 1;
}

/// A handler's row, as far as the configuration says it.
struct Row {
  std::int32_t handler_id = 0;
  std::string name;
  std::vector<std::string> aliases, topics, types;
  bool is_retired = false;
  bool has_former_name = false;
  event::Microseconds since = 0;
  std::int64_t changed_under = 0;
  bool is_anothers = false;  ///< of the configuration, by its name
};

std::string change_between(const Row& row, const config::Handler& handler) {
  std::string out;
  const auto say = [&](const char* what, const std::string& before, const std::string& now) {
    if (before != now) out.append(out.empty() ? "" : "; ").append(what).append(": ").append(before + " -> " + now);
  };
  say("name", row.name, handler.name);
  say("aliases", base::joined(row.aliases, "none"), base::joined(handler.aliases, "none"));
  say("topics", base::joined(row.topics, "all"), base::joined(handler.topics, "all"));
  say("types", base::joined(row.types, "all"), base::joined(handler.types, "all"));
  return out;
}

ArrayParameter ids_of(const std::vector<Registered>& handlers) {
  ArrayParameter out{Type::int4};
  for (const Registered& handler : handlers) out.add(handler.handler_id);
  return out;
}

/// Puts the handlers of one configuration into their rows. Where it changes any, routing moves on to its version:
/// whoever routed by the old one reads the handlers again.
class Registration {
 public:
  Registration(Connection::Access& access, pqxx::work& tx, const std::vector<config::Handler>& handlers,
               const std::string& actor)
      : access_{access}, tx_{tx}, actor_{actor} {
    for (const config::Handler& handler : handlers) names_.add(handler.name);
  }

  Registered put(const config::Handler& handler, const Registered* before) {
    const auto row = find(handler, before);
    // As it was: put back under the version of then, or it would hide what a newer configuration has yet to put back.
    const bool is_forgotten = before != nullptr && before->changed_under > 0 && before->handler == handler &&
                              (!row || row->changed_under < before->changed_under);
    remembered_ = is_forgotten ? std::optional{before->changed_under} : std::nullopt;
    if (!row) return add(handler, before);
    return row->is_anothers ? add(handler, nullptr) : put_into(*row, handler, before);
  }

  /// All of them, in their order. Those whose rows are there go first: in a database that was set back one of them may
  /// have the name of one that was added since.
  std::vector<Registered> put_back(const std::vector<Registered>& before) {
    const auto rows = access_.run_in(tx_, statements::known_handlers, pqxx::params{ids_of(before).finish()});
    std::set<std::int32_t> known;
    for (const auto& row : rows) known.insert(row[0].as<std::int32_t>());
    std::vector<Registered> out(before.size());
    for (const bool is_known : {true, false}) {
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (known.contains(before[i].handler_id) == is_known) out[i] = put_back(before[i]);
      }
    }
    return out;
  }

 private:
  Registered put_back(const Registered& before) {
    remembered_ = before.changed_under;
    const auto row = find(before.handler, &before);
    if (!row) return add(before.handler, &before);
    const bool is_added_anew = row->handler_id != before.handler_id;
    if (!is_added_anew && row->changed_under < before.changed_under) return put_into(*row, before.handler, &before);
    Registered out = before;
    out.handler_id = row->handler_id;
    out.is_new = false;
    out.change.clear();
    return out;
  }

  Registered put_into(const Row& row, const config::Handler& handler, const Registered* before) {
    // An older configuration: it neither renames back nor changes what the newer one says, but it is there.
    if (row.has_former_name && !row.is_retired) return {row.handler_id, row.name, false, true, {}, row.since};
    config::Handler wanted = handler;
    if (row.has_former_name) {
      wanted.name = row.name;
      wanted.aliases = row.aliases;
      wanted.topics = row.topics;
      wanted.types = row.types;
    }
    // Retired since it was registered, or before that, which the database has forgotten then.
    const bool is_forgotten = before != nullptr && row.since < before->since;
    if (row.is_retired) return renew(row, wanted, is_forgotten ? before : nullptr);
    Registered out{row.handler_id, wanted.name, false, false, change_between(row, wanted), row.since};
    // Also where nothing is another in the end: whoever knows the newer version waits for it (ingest).
    const bool is_set_back = before != nullptr && row.changed_under < before->changed_under;
    out.changed_under = out.change.empty() && !is_set_back ? row.changed_under : update(row, wanted);
    return out;
  }

  /// Moves routing on, once, and says under which version a handler is what it is from now on.
  std::int64_t change_version() {
    if (!version_) version_ = access_.run_in(tx_, statements::next_routing_version, {})[0][0].as<std::int64_t>();
    return remembered_.value_or(*version_);
  }

  std::optional<Row> find(const config::Handler& handler, const Registered* before) {
    auto aliases = array_of(Type::text, handler.aliases);
    const auto found =
        access_.run_in(tx_, statements::find_handler,
                       pqxx::params{handler.name, aliases.finish(), names_.finish(), before ? before->handler_id : 0});
    if (found.empty()) return std::nullopt;
    const auto row = found[0];
    Row out{row[0].as<std::int32_t>(),
            row[1].as<std::string>(),
            texts(row[2]),
            texts(row[3]),
            texts(row[4]),
            row[5].as<bool>(),
            row[6].as<bool>(),
            row[7].as<event::Microseconds>(),
            row[8].as<std::int64_t>(),
            row[9].as<bool>()};
    // What it is called in a database that was set back is no newer name.
    if (before != nullptr && out.changed_under < before->changed_under) out.has_former_name = false;
    return out;
  }

  Registered add(const config::Handler& handler, const Registered* before) {
    auto aliases = array_of(Type::text, handler.aliases), topics = array_of(Type::text, handler.topics),
         types = array_of(Type::text, handler.types);
    Registered out{before != nullptr ? before->handler_id : random_id(), handler.name, true, false, {}};
    out.changed_under = change_version();
    const auto row = access_.run_in(tx_, statements::insert_handler,
                                    pqxx::params{handler.name, aliases.finish(), topics.finish(), types.finish(),
                                                 start_text(handler.start), actor_, out.handler_id, out.changed_under});
    out.since = before != nullptr ? before->since : row[0][0].as<event::Microseconds>();
    owe_history(out, handler, before != nullptr);
    return out;
  }

  /// One that was retired: a new one with a known id. What is left of what it was owed goes, or it would be given
  /// twice.
  Registered renew(const Row& row, const config::Handler& handler, const Registered* before) {
    // Whoever makes a row of another has that one locked: a snapshot that sees none of either is behind them all.
    while (access_.run_in(tx_, statements::forget_owed, pqxx::params{row.handler_id})[0][0].as<bool>()) {
    }
    auto aliases = array_of(Type::text, handler.aliases), topics = array_of(Type::text, handler.topics),
         types = array_of(Type::text, handler.types);
    const std::int64_t changed_under = change_version();
    const auto rows = access_.run_in(tx_, statements::renew_handler,
                                     pqxx::params{row.handler_id, handler.name, aliases.finish(), topics.finish(),
                                                  types.finish(), actor_, start_text(handler.start), changed_under});
    Registered out{row.handler_id, handler.name, true, row.has_former_name, {}};
    if (!row.has_former_name) out.changed_under = changed_under;
    out.since = before != nullptr ? before->since : rows[0][0].as<event::Microseconds>();
    owe_history(out, handler, before != nullptr);
    return out;
  }

  /// `again`: it was registered before, and the database has forgotten it since.
  void owe_history(const Registered& registered, const config::Handler& handler, bool again) {
    const bool from_beginning = handler.start.kind == config::StartAt::Kind::beginning;
    const bool from_time = handler.start.kind == config::StartAt::Kind::time;
    if (!from_beginning && !from_time && !again) return;
    std::optional<event::Microseconds> from;
    if (!from_beginning) from = from_time ? handler.start.time_us : registered.since;
    auto topics = array_of(Type::text, handler.topics);
    access_.run_in(tx_, statements::owe_history, pqxx::params{registered.handler_id, topics.finish(), from});
  }

  /// Returns since which version.
  std::int64_t update(const Row& row, const config::Handler& handler) {
    if (row.name != handler.name) {
      access_.run_in(tx_, statements::free_handler_name, pqxx::params{row.handler_id, handler.name, actor_});
    }
    auto aliases = array_of(Type::text, handler.aliases), topics = array_of(Type::text, handler.topics),
         types = array_of(Type::text, handler.types);
    const std::int64_t changed_under = change_version();
    access_.run_in(tx_, statements::update_handler,
                   pqxx::params{row.handler_id, handler.name, aliases.finish(), topics.finish(), types.finish(), actor_,
                                changed_under});
    return changed_under;
  }

  Connection::Access& access_;
  pqxx::work& tx_;
  const std::string& actor_;
  ArrayParameter names_{Type::text};  ///< of all handlers of the configuration
  std::optional<std::int64_t> version_;     ///< where routing has moved on
  std::optional<std::int64_t> remembered_;  ///< of the handler that is put back
};

bool matches_one(std::string_view name, std::string_view pattern) {
  if (!pattern.empty() && pattern.back() == '*') return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

/// What the last life of a retired handler has left, in bites, before routing is locked: it may be much.
void forget_retired(Connection& connection, const std::vector<config::Handler>& handlers) {
  ArrayParameter names{Type::text};
  for (const config::Handler& handler : handlers) {
    names.add(handler.name);
    for (const std::string& alias : handler.aliases) names.add(alias);
  }
  const auto rows = connection.access().run(statements::retired_handlers, pqxx::params{names.finish()}, Effect::reads);
  for (const auto& row : rows) {
    while (forget_bite(connection, row[0].as<std::int32_t>(), forget_bite_rows).rows > 0) {
    }
  }
}

void take_up(Connection::Access& access, pqxx::work& tx, const InstanceIdentity& instance,
             const std::vector<Registered>& handlers) {
  auto ids = ids_of(handlers);
  access.run_in(
      tx, statements::instance_takes_up,
      pqxx::params{instance.instance_id.text(), instance.host, INBOXD_VERSION, instance.process_id, ids.finish()});
}

/// Has them put into their rows by `put`, with routing locked.
std::vector<Registered> registered_by(Connection& connection, const std::vector<config::Handler>& handlers,
                                      const std::string& actor, const std::optional<InstanceIdentity>& taken_up_by,
                                      const std::function<std::vector<Registered>(Registration&)>& put) {
  auto& access = connection.access();
  std::vector<Registered> out;
  forget_retired(connection, handlers);
  access.transaction([&](pqxx::work& tx) {
    lock_routing(access, tx);
    Registration registration{access, tx, handlers, actor};
    out = put(registration);
    for (std::size_t i = 0; i < handlers.size(); ++i) out[i].handler = handlers[i];
    if (taken_up_by) take_up(access, tx, *taken_up_by, out);
    return true;
  });
  return out;
}

}  // namespace

Routing read_routing(Connection& connection) {
  Routing out;
  for (const auto& row : connection.access().run(statements::read_routing, {}, Effect::reads)) {
    out.version = row[0].as<std::int64_t>();
    if (row[1].is_null()) continue;
    out.handlers.push_back({row[1].as<std::int32_t>(), row[2].as<std::string>(), texts(row[3]), texts(row[4]),
                            row[5].as<std::optional<std::string>>()});
  }
  return out;
}

HandlerVersions read_handler_versions(Connection& connection) {
  HandlerVersions out;
  for (const auto& row : connection.access().run(statements::handler_versions, {}, Effect::reads)) {
    out[row[0].as<std::int32_t>()] = row[1].as<std::int64_t>();
  }
  return out;
}

bool matches(std::string_view name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return matches_one(name, pattern); });
}

std::vector<Registered> register_handlers(Connection& connection, const std::vector<config::Handler>& handlers,
                                          const std::string& actor, const std::vector<Registered>& before,
                                          const std::optional<InstanceIdentity>& taken_up_by) {
  return registered_by(connection, handlers, actor, taken_up_by, [&](Registration& registration) {
    std::vector<Registered> out;
    for (const auto& handler : handlers) out.push_back(registration.put(handler, find_registered(before, handler)));
    return out;
  });
}

std::vector<Registered> put_back(Connection& connection, const std::vector<Registered>& registered,
                                 const std::string& actor, const InstanceIdentity& taken_up_by) {
  std::vector<config::Handler> handlers;
  for (const Registered& one : registered) handlers.push_back(one.handler);
  return registered_by(connection, handlers, actor, taken_up_by,
                       [&](Registration& registration) { return registration.put_back(registered); });
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

std::vector<std::string> retired_of(Connection& connection, const std::vector<Registered>& handlers) {
  std::vector<std::string> out;
  if (handlers.empty()) return out;
  auto ids = ids_of(handlers);
  for (const auto& row : connection.access().run(statements::retired_of, pqxx::params{ids.finish()}, Effect::reads)) {
    out.push_back(row[0].as<std::string>());
  }
  return out;
}

std::optional<Backfilled> backfill_bite(Connection& connection, int bite_events) {
  const auto row =
      connection.access().run(statements::backfill_bite, pqxx::params{bite_events, backfill_bite_bytes})[0];
  if (row[0].is_null()) return std::nullopt;
  return Backfilled{row[0].as<std::int64_t>(), row[1].as<std::int64_t>()};
}

}  // namespace inboxd::inbox
