#include "cli/upsert_statement.hpp"

#include <algorithm>
#include <functional>

#include "config/todo_mark.hpp"

namespace inboxd::cli {
namespace {

/// PostgreSQL takes 100 arguments in a call; an object has two for each member.
constexpr std::size_t members_of_object = 50;

/// Names in lines of about 90 columns, with a prefix for each, such as `r.`.
std::string list_of(const std::vector<std::string>& names, const std::string& before = "") {
  constexpr std::size_t columns = 90;
  std::string out;
  std::size_t line = 0;
  for (const auto& name : names) {
    const std::string word = before + quoted_name(name);
    const bool is_full = line + word.size() > columns && !out.empty();
    out.append(out.empty() ? "" : is_full ? ",\n    " : ", ").append(word);
    line = (is_full ? 0 : line) + word.size() + 2;
  }
  return out;
}

std::vector<std::string> names_of(const TableWrite& write, bool with_keys, bool with_others) {
  std::vector<std::string> out;
  for (const auto& column : write.columns) {
    if (column.is_key ? with_keys : with_others) out.push_back(column.name);
  }
  return out;
}

/// A number of a converter's time as PostgreSQL's; empty: the type needs nothing. `x` is jsonb.
std::string converted(const std::string& type, const std::string& x, const TableWrite& write) {
  const bool is_change_event = write.is_change_event;
  const std::string number = "(" + x + ")::float8";
  // Debezium's times have milliseconds or microseconds.
  const std::string unit =
      is_change_event ? "case when abs(" + number + ") < 1e14 then 1e3 else 1e6 end" : std::string{"1e3"};
  const std::string moment = "to_timestamp(" + number + " / " + unit + ")";
  if (type.starts_with("timestamp") && type.ends_with("with time zone")) return moment;
  if (type.starts_with("timestamp")) return moment + " at time zone " + quoted_text(write.time_zone);
  if (type == "date") return "date '1970-01-01' + (" + x + ")::int";
  if (type.starts_with("time") && type.ends_with("without time zone")) {
    return "time '00:00' + " + number + " * interval '1 " + (is_change_event ? "microsecond'" : "millisecond'");
  }
  return "";
}

/// The column's value in the record, as jsonb.
std::string value_of(const WrittenColumn& column, const TableWrite& write, std::size_t place_in_key) {
  if (!column.expression.empty()) {
    const bool is_local = column.expression == moment_of_event && column.type.starts_with("timestamp") &&
                          !column.type.ends_with("with time zone");
    return "to_jsonb(" + column.expression + (is_local ? " at time zone " + quoted_text(write.time_zone) : "") + ")";
  }
  if (column.is_key && write.key_source == KeySource::kafka) {
    constexpr const char* places[] = {"e.topic", "e.partition", "e.\"offset\""};
    return std::string{"to_jsonb("} + places[place_in_key % 3] + ")";
  }
  const std::string field = quoted_text(column.is_key && !write.key_field.empty() ? write.key_field : column.field);
  if (column.is_key && write.key_source == KeySource::record_key) {
    if (write.key_format == KeyFormat::text) return "to_jsonb(e.key)";
    const bool is_alone = names_of(write, true, false).size() == 1;
    return is_alone ? "case jsonb_typeof(k.v) when 'object' then k.v->" + field + " else k.v end" : "k.v->" + field;
  }
  const std::string path = std::string{write.is_change_event ? "e.body->'after'->" : "e.body->"} + field;
  if (column.type == "bytea") {
    return "to_jsonb('\\x' || encode(decode(" + path + "#>>'{}', 'base64'), 'hex'))";
  }
  const std::string moment = converted(column.type, path, write);
  if (moment.empty()) return path;
  return "case jsonb_typeof(" + path + ") when 'number' then to_jsonb(" + moment + ") else " + path + " end";
}

/// The record as a row of the table: `jsonb_populate_record` gives each value the type of its column.
std::string row_of(const TableWrite& write, const std::string& indent) {
  std::string objects;
  std::size_t count = 0, keys = 0;
  for (const auto& column : write.columns) {
    if (count % members_of_object == 0) objects += (count == 0 ? "" : ") ||") + ("\n" + indent) + "jsonb_build_object(";
    else objects += ",";
    objects += "\n" + indent + "  " + quoted_text(column.name) + ", " + value_of(column, write, keys);
    keys += column.is_key ? 1 : 0;
    ++count;
  }
  return "jsonb_populate_record(null::" + write.table + "," + objects + "))";
}

std::string from_events(const TableWrite& write, const std::string& indent) {
  std::string out = "from events e";
  if (write.key_source == KeySource::record_key && write.key_format == KeyFormat::json) {
    out += "\n" + indent + "cross join lateral (select coalesce(e.key::jsonb->'payload', e.key::jsonb) as v) k";
  }
  out += "\n" + indent + "cross join lateral " + row_of(write, indent + "  ") + " r";
  if (!write.is_change_event) return out;
  return out + "\n" + indent + "where e.body->>'op' in ('c', 'u', 'r'" + (write.deletes ? ", 'd')" : ")");
}

/// The rows of an insert without conflicts, in the order of the records.
std::string insert_only(const TableWrite& write) {
  const auto all = names_of(write, true, true);
  return "insert into " + write.table + " (" + list_of(all) + ")\nselect " + list_of(all, "r.") + "\n" +
         from_events(write, "") + "\norder by e.\"offset\"\n";
}

/// The last row of each primary key.
std::string with_latest(const TableWrite& write) {
  const auto all = names_of(write, true, true), keys = names_of(write, true, false);
  std::string out = "with record as (\n  select " + list_of(all, "r.") + ", e.\"offset\" as inboxd_offset";
  if (write.deletes) {
    out += std::string{",\n    "} + (write.is_change_event ? "e.body->>'op' = 'd'" : "e.payload is null") +
           " as inboxd_gone";
  }
  out += "\n  " + from_events(write, "  ") + "),\nlatest as (\n  select distinct on (" + list_of(keys) +
         ") * from record\n  order by " + list_of(keys) + ", inboxd_offset desc)";
  return out;
}

std::string same_key(const TableWrite& write) {
  std::string out;
  for (const auto& name : names_of(write, true, false)) {
    const std::string column = quoted_name(name);
    out.append(out.empty() ? "t." : " and t.").append(column).append(" = l.").append(column);
  }
  return out;
}

std::string assignments(const std::vector<std::string>& names, const std::string& from) {
  std::string out;
  for (const auto& name : names) {
    out.append(out.empty() ? "" : ",").append("\n  ").append(quoted_name(name)).append(" = ").append(from).append(
        quoted_name(name));
  }
  return out;
}

std::string complete_statement(const TableWrite& write) {
  if (write.mode == InsertMode::insert && !write.deletes) return insert_only(write);
  const auto all = names_of(write, true, true), others = names_of(write, false, true);
  std::string out = with_latest(write);
  if (write.deletes) {
    out += ",\ngone as (\n  delete from " + write.table + " t using latest l where l.inboxd_gone and " +
           same_key(write) + ")";
  }
  if (write.mode == InsertMode::update) {
    return out + "\nupdate " + write.table + " t set" + assignments(others, "l.") + "\nfrom latest l\nwhere " +
           same_key(write) + (write.deletes ? " and not l.inboxd_gone" : "") + "\n";
  }
  out += "\ninsert into " + write.table + " (" + list_of(all) + ")\nselect " + list_of(all) + "\nfrom latest" +
         (write.deletes ? " where not inboxd_gone" : "");
  if (write.mode == InsertMode::insert) return out + "\n";
  out += "\non conflict (" + list_of(names_of(write, true, false)) + ") do ";
  return out + (others.empty() ? "nothing" : "update set" + assignments(others, "excluded.")) + "\n";
}

}  // namespace

std::string quoted_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out + "'";
}

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string statement_for(const TableWrite& write) {
  std::string out;
  for (const auto& sentence : write.todo) out.append(config::todo_mark).append(sentence).append("\n");
  return out + complete_statement(write);
}

}  // namespace inboxd::cli
