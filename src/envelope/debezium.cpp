// Debezium's change events, https://debezium.io/documentation: {"before": …, "after": …, "source": {…}, "op": "u",
// "ts_ms": …}, alone or as the payload next to a converter's schema. A change event has no id. Its place in the
// database's log, with the key of its row, is the same each time Debezium sends the change again. The members of
// `source` were read in the connectors' SourceInfoStructMaker classes.
#include <array>

#include "envelope/body.hpp"
#include "envelope/identity.hpp"
#include "envelope/rule.hpp"
#include "envelope/time.hpp"
#include "event/top_members.hpp"

namespace inboxd::envelope {
namespace {

using Raw = std::string_view;                  // the bytes of a JSON value

bool is_set(Raw json) { return !json.empty() && json != "null"; }

struct Change {
  Raw op, source, ts_ms, transaction;
};

constexpr std::size_t max_places = 7;

struct Source {
  Raw connector, name, db, schema, table, ts_ms, snapshot;
  std::array<Raw, max_places> places;          ///< of Connector::places
};

/// How a connector writes a position. Without its first place there is no position.
struct Connector {
  Raw name;
  std::array<std::string_view, max_places> places;
  std::size_t of_row = 0;                      ///< the place that tells a transaction's changes apart; 0: the first
};

constexpr std::array connectors{
    Connector{"\"postgresql\"", {"lsn", "txId"}},
    Connector{"\"mysql\"", {"file", "pos", "row", "gtid", "server_id"}},
    Connector{"\"mariadb\"", {"file", "pos", "row", "gtid", "server_id"}},
    Connector{"\"sqlserver\"", {"commit_lsn", "change_lsn", "event_serial_no"}, 1},
    Connector{"\"db2\"", {"commit_lsn", "change_lsn"}, 1},
    Connector{"\"oracle\"", {"scn", "rs_id", "ssn", "redo_thread", "commit_scn", "txId"}, 1},
    Connector{"\"mongodb\"", {"ord", "h", "txnNumber"}},
};

const Connector* find_connector(Raw name) {
  for (const Connector& one : connectors) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

Change read_change(Raw json) {
  Change out;
  for (event::TopMembers members{json}; members.next();) {
    if (members.name == "op") out.op = members.raw;
    else if (members.name == "source") out.source = members.raw;
    else if (members.name == "ts_ms") out.ts_ms = members.raw;
    else if (members.name == "transaction") out.transaction = members.raw;
  }
  return out;
}

Raw member(Raw json, std::string_view name) {
  Raw out;
  for (event::TopMembers members{json}; members.next();) {
    if (members.name == name) out = members.raw;
  }
  return out;
}

Source read_source(Raw json, const Connector* connector) {
  Source out;
  for (event::TopMembers members{json}; members.next();) {
    const std::string_view name = members.name;
    if (name == "connector") out.connector = members.raw;
    else if (name == "name") out.name = members.raw;
    else if (name == "db") out.db = members.raw;
    else if (name == "schema") out.schema = members.raw;
    else if (name == "table" || name == "collection") out.table = members.raw;
    else if (name == "ts_ms") out.ts_ms = members.raw;
    else if (name == "snapshot") out.snapshot = members.raw;
    for (std::size_t i = 0; connector != nullptr && i < max_places; ++i) {
      if (name == connector->places[i]) out.places[i] = members.raw;
    }
  }
  return out;
}

bool is_op(Raw json) { return json.size() == 3 && json[0] == '"' && Raw{"crudtm"}.find(json[1]) != Raw::npos; }

/// Equal for all records of a change: without its source, which is in the id, and the times at which Debezium sent it.
std::int64_t digest_of_change(event::MaybeBytes key, Raw json) {
  std::int64_t out = digest_of(key, std::nullopt);
  for (event::TopMembers members{json}; members.next();) {
    const std::string_view name = members.name;
    if (name.starts_with("ts_") || name == "source" || name == "transaction") continue;
    out = digest_of(digest_of(out, name), members.raw);
  }
  return out;
}

/// The record's key without a converter's wrapping; null for a table without a key.
event::MaybeBytes key_of(const Input& in) {
  if (!in.key()) return std::nullopt;
  std::string storage;
  const event::JsonText body = body_in(*in.key(), in.rules.topic.unwrap, storage);
  if (!body.is_json()) return in.key();
  if (body.text == "null") return std::nullopt;
  return storage.empty() ? body.text : in.arena.copy(body.text);
}

/// `postgresql lsn=24023128 txId=555 ts_ms=1559033904863 op=u`: raw JSON values, so that no two positions look alike.
std::string_view position_of(const Connector& connector, const Source& source, const Change& change, Raw order,
                             base::Arena& arena) {
  std::string out{connector.name.substr(1, connector.name.size() - 2)};
  const auto add = [&](std::string_view name, Raw value) {
    if (is_set(value)) out.append(" ").append(name).append("=").append(value);
  };
  for (std::size_t i = 0; i < max_places; ++i) add(connector.places[i], source.places[i]);
  add("ts_ms", source.ts_ms);
  add("total_order", order);
  add("op", change.op.substr(1, 1));
  return arena.copy(out);
}

void take_position(const Input& in, const Connector* connector, const Source& source, const Change& change,
                   Reading& out) {
  const auto missing = [&](const auto&... parts) { out.complain(Rejection::no_id, parts...); };
  if (connector == nullptr) {
    return missing("a change event of a connector whose positions inboxd does not know; set on_missing_id");
  }
  const bool is_snapshot = change.op[1] == 'r';
  if (!is_set(source.places[0])) return missing("a change event without source.", connector->places[0]);
  if (!is_snapshot && !is_set(source.places[connector->of_row])) {
    return missing("a change event without source.", connector->places[connector->of_row],
                   ": its transaction's changes share a position");
  }
  // A truncated table and a message in the log have no row.
  const bool is_of_row = change.op[1] != 't' && change.op[1] != 'm';
  if (is_of_row && !out.key) return missing("a change event without a key: rows may share its position");
  const Raw order = member(change.transaction, "total_order");
  if (connector->name == "\"mongodb\"" && is_set(source.places[2]) && !is_set(order)) {
    return missing("a change event of a transaction in MongoDB, whose changes share a position; set Debezium's "
                   "provide.transaction.metadata, or on_missing_id");
  }
  out.id = position_of(*connector, source, change, connector->name == "\"mongodb\"" ? order : Raw{}, in.arena);
}

/// The text of a JSON string; empty: the value is none.
std::string_view string_in(Raw json, base::Arena& arena) {
  return json.starts_with('"') ? producer_text(json, arena).value_or("") : std::string_view{};
}

/// `public.orders:u`: the table first, so that a handler can subscribe to all changes of a table.
std::string_view type_of(const Source& source, Raw op, base::Arena& arena) {
  std::string out;
  const Raw schema = is_set(source.schema) ? source.schema : source.db;
  for (const Raw part : {schema, source.table}) {
    if (is_set(part)) out.append(out.empty() ? "" : ".").append(string_in(part, arena));
  }
  return arena.copy(out.append(":").append(op.substr(1, 1)));
}

void take_time(const Source& source, const Change& change, Reading& out) {
  for (const Raw time : {source.ts_ms, change.ts_ms}) {
    if (!out.occurred_at && time != "0") out.occurred_at = parse_time(time, config::TimeUnit::ms);
  }
}

}  // namespace

void identify_by_row(const Input& in, Reading& out) {
  out.uniqueness = Uniqueness::topic_key_and_id;
  out.key = key_of(in);
  if (out.key && out.key->size() <= max_attribute && base::is_database_text(*out.key)) out.subject = out.key;
}

bool read_debezium(const Input& in, Reading& out, std::string* why) {
  if (!in.value()) return no_match(why, "the value is null");
  if (!mentions_key(*in.value(), "ts_ms", '_')) return no_match(why, "the value has no \"ts_ms\"");
  std::string storage;
  const event::JsonText body = body_in(*in.value(), in.rules.topic.unwrap, storage);
  if (!body.is_json()) return no_match(why, "the value is not JSON: ", event::sentence_of(body.problem));
  const Raw json = storage.empty() ? body.text : in.arena.copy(body.text);
  const Change change = read_change(json);
  if (!is_op(change.op) || !change.source.starts_with('{') || change.ts_ms.empty()) {
    return no_match(why, "the value is JSON, but lacks op, source or ts_ms at its top level");
  }
  const Connector* const connector = find_connector(member(change.source, "connector"));
  const Source source = read_source(change.source, connector);
  say(why, "the value is JSON with op, source and ts_ms");
  identify_by_row(in, out);
  take_position(in, connector, source, change, out);
  out.type = type_of(source, change.op, in.arena);
  if (is_set(source.name)) out.source = string_in(source.name, in.arena);
  out.digest = digest_of_change(out.key, json);
  take_time(source, change, out);
  require(in, out, is_set(source.table), "a change event without source.table");
  return true;
}

}  // namespace inboxd::envelope
