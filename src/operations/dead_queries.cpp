#include "operations/dead_queries.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/routing_lock.hpp"
#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Effect = inbox::Connection::Access::Effect;
using Type = inbox::ArrayParameter::Type;

/// A filter's arrays, which must outlive the parameters that point to them.
struct FilterParameters {
  explicit FilterParameters(const DeadFilter& filter)
      : types{like_patterns(filter.types)}, classes{like_patterns(filter.error_classes)} {
    values.append(filter.handler);
    values.append(types.finish());
    values.append(classes.finish());
    values.append(filter.message);
    values.append(filter.died.since);
    values.append(filter.died.until);
    append_bytes(values, filter.key);
  }

  inbox::ArrayParameter types;
  inbox::ArrayParameter classes;
  pqxx::params values;
};

/// The parameters with ids.
struct WithIds : FilterParameters {
  explicit WithIds(const DeadFilter& filter)
      : FilterParameters{filter},
        letters{inbox::array_of(Type::int8, filter.dead_letter_ids)},
        events{inbox::array_of(Type::uuid, filter.event_ids)} {
    if (filter.dead_letter_ids.empty() && filter.event_ids.empty()) {
      values.append();
      values.append();
    } else {
      values.append(letters.finish());
      values.append(events.finish());
    }
  }

  inbox::ArrayParameter letters;
  inbox::ArrayParameter events;
};

DeadLetter read_letter(inbox::RowReader row) {
  DeadLetter out;
  out.dead_letter_id = row.int8();
  out.handler = row.text();
  out.state = row.text();
  out.attempts = row.int4();
  out.died_at = row.int8();
  out.error_class = row.text();
  out.message = row.text();
  out.reasons = row.maybe_text();
  out.notes = row.maybe_text();
  out.event = read_stored_event(row, true);
  return out;
}

/// Parked events that a transaction brings back, about.
constexpr int max_parked = 1'000;

/// No handler may be retired meanwhile: its events would stay pending for ever.
void lock_dead(inbox::Connection::Access& access, pqxx::work& tx) {
  inbox::share_routing(access, tx);
  access.run_in(tx, inbox::statements::op_dead_lock, pqxx::params{});
}

Replayed read_replayed(const pqxx::result& rows) {
  Replayed out;
  out.letters = rows[0][0].as<std::int64_t>();
  out.restored = rows[0][1].as<std::int64_t>();
  const auto parking = rows[0][2].as_sql_array<std::int64_t>();
  out.parking.assign(parking.cbegin(), parking.cend());
  return out;
}

Replayed bring_back(inbox::Connection& connection, const inbox::Statement& statement,
                    const std::vector<std::int64_t>& dead_letter_ids, const Deed& deed, const std::string& operation) {
  auto letters = inbox::array_of(Type::int8, dead_letter_ids);
  const auto bytes = letters.finish();
  auto& access = connection.access();
  Replayed out;
  access.transaction([&](pqxx::work& tx) {
    lock_dead(access, tx);
    out =
        read_replayed(access.run_in(tx, statement, pqxx::params{bytes, deed.actor, deed.asked, max_parked, operation}));
    return true;
  });
  return out;
}

}  // namespace

Document list_dead(inbox::Connection& connection, const DeadFilter& filter, std::int64_t limit) {
  FilterParameters parameters{filter};
  parameters.values.append(limit);
  Document out = Document::array();
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_dead_list, parameters.values)) {
    out.push_back(read_row(row, columns::dead_letter));
    out.back()["event"] = read_row(row, columns::event_summary);
  }
  return out;
}

std::vector<DeadLetter> find_dead(inbox::Connection& connection, const std::vector<std::int64_t>& dead_letter_ids,
                                  const std::vector<base::Uuid>& event_ids) {
  auto letters = inbox::array_of(Type::int8, dead_letter_ids);
  auto events = inbox::array_of(Type::uuid, event_ids);
  return read_all(connection, inbox::statements::op_dead_find, pqxx::params{letters.finish(), events.finish()},
                  read_letter);
}

std::vector<StoredEvent> identify_dead(inbox::Connection& connection, const DeadIdentity& identity) {
  const auto event_id = identity.event_id ? std::optional{identity.event_id->text()} : std::nullopt;
  return read_all(connection, inbox::statements::op_dead_identify,
                  pqxx::params{event_id, identity.source_id, identity.topic, identity.partition, identity.offset},
                  [](auto row) { return read_stored_event(row, false); });
}

DeadGroups group_dead(inbox::Connection& connection, const DeadFilter& filter, const std::optional<std::string>& by,
                      std::int64_t limit) {
  FilterParameters parameters{filter};
  parameters.values.append(by);
  parameters.values.append(limit);
  DeadGroups out;
  out.groups = Document::array();
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_dead_groups, parameters.values)) {
    out.groups.push_back(read_row(row, columns::dead_group));
    out.letters = row["total"].as<std::int64_t>();
  }
  return out;
}

event::Microseconds database_time(inbox::Connection& connection) {
  return inbox::run_read(connection, inbox::statements::op_now, pqxx::params{})[0][0].as<event::Microseconds>();
}

std::vector<PickedLetter> pick_dead(inbox::Connection& connection, const DeadFilter& filter, bool any_too,
                                    std::int64_t limit) {
  WithIds parameters{filter};
  parameters.values.append(limit);
  parameters.values.append(any_too);
  return read_all(connection, inbox::statements::op_dead_pick, parameters.values,
                  [](auto row) { return PickedLetter{row.int8(), row.text()}; });
}

NotNow count_dead_not_now(inbox::Connection& connection, const DeadFilter& filter) {
  const auto found = inbox::run_read(connection, inbox::statements::op_dead_not_replayable, WithIds{filter}.values);
  return {found[0][0].as<std::int64_t>(), found[0][1].as<std::int64_t>(), found[0][2].as<std::int64_t>()};
}

std::int64_t count_parked_behind(inbox::Connection& connection, const std::vector<std::int64_t>& dead_letter_ids) {
  auto letters = inbox::array_of(Type::int8, dead_letter_ids);
  return inbox::run_read(connection, inbox::statements::op_dead_parked, pqxx::params{letters.finish()})[0][0]
      .as<std::int64_t>();
}

Replayed replay_dead(inbox::Connection& connection, const std::vector<std::int64_t>& dead_letter_ids, const Deed& deed,
                     const std::string& operation) {
  return bring_back(connection, inbox::statements::op_dead_replay, dead_letter_ids, deed, operation);
}

Replayed release_parked(inbox::Connection& connection, const std::vector<std::int64_t>& dead_letter_ids,
                        const Deed& deed, const std::string& operation) {
  return bring_back(connection, inbox::statements::op_lanes_release, dead_letter_ids, deed, operation);
}

std::vector<Edit> read_edits(inbox::Connection& connection, std::int32_t shard_id, std::int64_t offset,
                             const base::Uuid& event_id) {
  return read_all(
      connection, inbox::statements::op_edits, pqxx::params{shard_id, offset, event_id.text()}, [](auto row) {
        return Edit{row.text(), row.int8(), row.text(), row.maybe_int8(), {row.maybe_bytes(), row.maybe_bytes()}};
      });
}

std::optional<Replayed> edit_dead(inbox::Connection& connection, std::int64_t dead_letter_id, const Content& content,
                                  const Deed& deed) {
  auto letters = inbox::array_of(Type::int8, std::vector<std::int64_t>{dead_letter_id});
  const auto bytes = letters.finish();
  pqxx::params edit{dead_letter_id};
  append_bytes(edit, content.payload);
  append_bytes(edit, content.headers);
  edit.append(deed.actor);
  auto& access = connection.access();
  std::optional<Replayed> out;
  access.transaction([&](pqxx::work& tx) {
    lock_dead(access, tx);
    out.reset();
    if (access.run_in(tx, inbox::statements::op_dead_edit, edit).empty()) return false;
    const pqxx::params replay{bytes, deed.actor, deed.asked, max_parked, std::string{"dead edit"}};
    Replayed replayed = read_replayed(access.run_in(tx, inbox::statements::op_dead_replay, replay));
    if (replayed.letters == 0) return false;
    out = std::move(replayed);
    return true;
  });
  return out;
}

Discarded discard_dead(inbox::Connection& connection, const std::vector<std::int64_t>& dead_letter_ids,
                       const Deed& deed) {
  auto letters = inbox::array_of(Type::int8, dead_letter_ids);
  const auto bytes = letters.finish();
  auto& access = connection.access();
  Discarded out;
  access.transaction([&](pqxx::work& tx) {
    lock_dead(access, tx);
    access.run_in(tx, inbox::statements::op_dead_lock_lanes, pqxx::params{bytes});
    // Parked events of this batch first: they are discarded, not released.
    const auto discard = [&](bool parking_too) {
      const pqxx::params parameters{bytes, deed.actor, deed.asked, parking_too};
      return access.run_in(tx, inbox::statements::op_dead_discard, parameters)[0][0].as<std::int64_t>();
    };
    out.letters = discard(false);
    out.released = read_replayed(
        access.run_in(tx, inbox::statements::op_lanes_release,
                      pqxx::params{bytes, deed.actor, deed.asked, max_parked, std::string{"dead discard"}}));
    out.letters += discard(true);
    return true;
  });
  return out;
}

}  // namespace inboxd::operations
