#include "operations/dead_queries.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/routing_lock.hpp"
#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

pqxx::params parameters_of(const DeadFilter& filter) {
  return pqxx::params{filter.handler,
                      like_patterns(filter.types),
                      like_patterns(filter.error_classes),
                      filter.message,
                      filter.died.since,
                      filter.died.until,
                      bytes_parameter(filter.key)};
}

pqxx::params with_ids(const DeadFilter& filter) {
  const bool has_none = filter.dead_letter_ids.empty() && filter.event_ids.empty();
  if (has_none) return pqxx::params{parameters_of(filter), nullptr, nullptr};
  return pqxx::params{parameters_of(filter), array_parameter(filter.dead_letter_ids),
                      array_parameter(filter.event_ids)};
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
                    const RowIds& dead_letter_ids, const Deed& deed, const std::string& operation) {
  const pqxx::params parameters{array_parameter(dead_letter_ids), deed.actor, deed.asked, max_parked, operation};
  auto& access = connection.access();
  Replayed out;
  access.transaction([&](pqxx::work& tx) {
    lock_dead(access, tx);
    out = read_replayed(access.run_in(tx, statement, parameters));
    return true;
  });
  return out;
}

}  // namespace

DeadList list_dead(inbox::Connection& connection, const DeadFilter& filter, std::int64_t limit) {
  DeadList out;
  pqxx::params parameters{parameters_of(filter), limit};
  if (filter.after)
    parameters.append(pqxx::params{filter.after->died_at, filter.after->dead_letter_id});
  else
    parameters.append(pqxx::params{nullptr, nullptr});
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_dead_list, parameters)) {
    out.letters.push_back(read_row(row, columns::dead_letter));
    out.letters.back()["event"] = read_row(row, columns::event_summary);
    out.last = {row["died_at"].as<event::Microseconds>(), row["dead_letter_id"].as<std::int64_t>()};
  }
  return out;
}

std::vector<DeadLetter> find_dead(inbox::Connection& connection, const RowIds& dead_letter_ids,
                                  const std::vector<base::Uuid>& event_ids) {
  const pqxx::params parameters{array_parameter(dead_letter_ids), array_parameter(event_ids)};
  std::vector<DeadLetter> out;
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_dead_find, parameters)) {
    out.push_back({row["dead_letter_id"].as<std::int64_t>(), row["handler"].as<std::string>(),
                   row["state"].as<std::string>(), row["died_at"].as<event::Microseconds>(),
                   read_row(row, columns::dead_letter), Document::parse(row["reasons"].view(), nullptr, false),
                   read_stored_event(row, Extent::whole)});
  }
  return out;
}

std::vector<StoredEvent> identify_dead(inbox::Connection& connection, const DeadIdentity& identity) {
  const auto event_id = identity.event_id ? std::optional{identity.event_id->text()} : std::nullopt;
  const pqxx::params parameters{event_id, identity.source_id, identity.topic, identity.partition, identity.offset};
  std::vector<StoredEvent> out;
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_dead_identify, parameters)) {
    out.push_back(read_stored_event(row));
  }
  return out;
}

DeadGroups group_dead(inbox::Connection& connection, const DeadFilter& filter, const std::optional<std::string>& by,
                      std::int64_t limit) {
  DeadGroups out;
  out.groups = Document::array();
  const pqxx::params parameters{parameters_of(filter), by, limit};
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_dead_groups, parameters)) {
    out.groups.push_back(read_row(row, columns::dead_group));
    out.letters = row["total"].as<std::int64_t>();
  }
  return out;
}

event::Microseconds database_time(inbox::Connection& connection) {
  return inbox::run_read(connection, inbox::statements::op_now, pqxx::params{})[0][0].as<event::Microseconds>();
}

std::vector<PickedRow> pick_dead(inbox::Connection& connection, const DeadFilter& filter, bool any_too,
                                 std::int64_t limit) {
  return read_picked(connection, inbox::statements::op_dead_pick, pqxx::params{with_ids(filter), limit, any_too});
}

NotNow count_dead_not_now(inbox::Connection& connection, const DeadFilter& filter) {
  const auto found = inbox::run_read(connection, inbox::statements::op_dead_not_replayable, with_ids(filter));
  return {found[0][0].as<std::int64_t>(), found[0][1].as<std::int64_t>(), found[0][2].as<std::int64_t>()};
}

std::int64_t count_parked_behind(inbox::Connection& connection, const RowIds& dead_letter_ids) {
  const pqxx::params parameters{array_parameter(dead_letter_ids)};
  return inbox::run_read(connection, inbox::statements::op_dead_parked, parameters)[0][0].as<std::int64_t>();
}

Replayed replay_dead(inbox::Connection& connection, const RowIds& dead_letter_ids, const Deed& deed,
                     const std::string& operation) {
  return bring_back(connection, inbox::statements::op_dead_replay, dead_letter_ids, deed, operation);
}

Replayed release_parked(inbox::Connection& connection, const RowIds& dead_letter_ids, const Deed& deed,
                        const std::string& operation) {
  return bring_back(connection, inbox::statements::op_lanes_release, dead_letter_ids, deed, operation);
}

std::vector<Edit> read_edits(inbox::Connection& connection, std::int32_t shard_id, std::int64_t offset,
                             const base::Uuid& event_id) {
  const pqxx::params parameters{shard_id, offset, event_id.text()};
  std::vector<Edit> out;
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_edits, parameters)) {
    out.push_back({row["handler"].as<std::string>(), read_content(row), read_row(row, columns::edit, Extent::whole)});
  }
  return out;
}

std::optional<Replayed> edit_dead(inbox::Connection& connection, std::int64_t dead_letter_id, const Content& content,
                                  const Deed& deed) {
  const pqxx::params edit{dead_letter_id, bytes_parameter(content.payload), bytes_parameter(content.headers),
                          deed.actor};
  const pqxx::params replay{array_parameter(std::vector{dead_letter_id}), deed.actor, deed.asked, max_parked,
                            std::string{"dead edit"}};
  auto& access = connection.access();
  std::optional<Replayed> out;
  access.transaction([&](pqxx::work& tx) {
    lock_dead(access, tx);
    out.reset();
    if (access.run_in(tx, inbox::statements::op_dead_edit, edit).empty()) return false;
    Replayed replayed = read_replayed(access.run_in(tx, inbox::statements::op_dead_replay, replay));
    if (replayed.letters == 0) return false;
    out = std::move(replayed);
    return true;
  });
  return out;
}

Discarded discard_dead(inbox::Connection& connection, const RowIds& dead_letter_ids, const Deed& deed) {
  const auto letters = array_parameter(dead_letter_ids);
  auto& access = connection.access();
  Discarded out;
  access.transaction([&](pqxx::work& tx) {
    lock_dead(access, tx);
    access.run_in(tx, inbox::statements::op_dead_lock_lanes, pqxx::params{letters});
    // Parked events of this batch first: they are discarded, not released.
    const auto discard = [&](bool parking_too) {
      const pqxx::params parameters{letters, deed.actor, deed.asked, parking_too};
      return access.run_in(tx, inbox::statements::op_dead_discard, parameters)[0][0].as<std::int64_t>();
    };
    out.letters = discard(false);
    out.released = read_replayed(
        access.run_in(tx, inbox::statements::op_lanes_release,
                      pqxx::params{letters, deed.actor, deed.asked, max_parked, std::string{"dead discard"}}));
    out.letters += discard(true);
    return true;
  });
  return out;
}

}  // namespace inboxd::operations
