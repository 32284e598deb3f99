#include "cli/shard_answers.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;
using operations::Document;

std::string quoted(const std::string& file) {
  const bool is_plain = std::ranges::all_of(file, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view{"/._-+:@%"}.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return file;
  std::string out = "'";
  for (const char c : file) out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return out + "'";
}

/// The first words of commands that run on one database.
const std::set<std::string, std::less<>>& command_words() {
  static const std::set<std::string, std::less<>> words = [] {
    std::set<std::string, std::less<>> out{"check", "verify", "migrate"};
    for (const auto& one : operations::operations()) out.insert(one.verb.substr(0, one.verb.find(' ')));
    return out;
  }();
  return words;
}

}  // namespace

std::string own_commands(std::string text, const std::string& file) {
  const std::string program = "inboxd ";
  const std::string option = "--config " + quoted(file) + " ";
  for (auto at = text.find(program); at != std::string::npos; at = text.find(program, at)) {
    at += program.size();
    const std::string_view rest = std::string_view{text}.substr(at);
    const std::string_view word = rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
    if (command_words().contains(word)) text.insert(at, option);
  }
  return text;
}

namespace {

Document with_shard(Document row, const ShardAnswer& from) {
  const bool is_finding = row.contains("remedy");  // other messages are what a handler said
  for (const char* const key : {"remedy", "what_to_do", "message"}) {
    const auto found = is_finding || key != std::string_view{"message"} ? row.find(key) : row.end();
    if (found != row.end() && found->is_string()) *found = own_commands(found->get<std::string>(), from.file);
  }
  Document out{{"shard", from.index}};
  out.update(row);
  return out;
}

/// Each row and sentence says which database it is from.
void mark_rows(Document& document, const ShardAnswer& from) {
  for (auto& member : document) {
    if (member.is_object()) mark_rows(member, from);
    if (!member.is_array()) continue;
    for (auto& row : member) {
      if (row.is_string()) {
        row = "shard " + std::to_string(from.index) + ": " + own_commands(row.get<std::string>(), from.file);
      }
      if (row.is_object()) row = with_shard(std::move(row), from);
    }
  }
}

/// Ages, times, shares and settings of several databases have a worst, and no sum.
bool has_no_sum(std::string_view key) {
  if (key == "shared_buffers" || key == "checkpoint_bytes") return true;
  return key.ends_with("seconds") || key.ends_with("_share") || key.ends_with("_per_second") || key.ends_with("_left");
}

/// How far a search went, which is as far as the databases went together.
bool is_search_end(std::string_view key) { return key == "back_to" || key == "next_until"; }

/// The time by which a list of such rows is newest first; empty: another order.
std::string time_in(const Document& row) {
  for (const char* const key : {"died_at", "received_at", "occurred_at"}) {
    const auto found = row.is_object() ? row.find(key) : row.end();
    if (found != row.end() && found->is_string()) return found->get<std::string>();
  }
  return "";
}

void merge(Document& into, const Document& more) {
  if (into.is_null()) {
    into = more;
  } else if (into.is_array() && more.is_array()) {
    into.insert(into.end(), more.begin(), more.end());
    std::stable_sort(into.begin(), into.end(),
                     [](const Document& one, const Document& other) { return time_in(one) > time_in(other); });
  } else if (into.is_number() && more.is_number()) {
    into = into.is_number_float() ? Document(into.get<double>() + more.get<double>())
                                  : Document(into.get<std::int64_t>() + more.get<std::int64_t>());
  } else if (into.is_boolean() && more.is_boolean()) {
    into = into.get<bool>() || more.get<bool>();
  } else if (into.is_object() && more.is_object()) {
    const bool is_worse = into.value("is_well", false) && !more.value("is_well", true);
    const bool is_well = into.value("is_well", false) && more.value("is_well", false);
    for (const auto& [key, value] : more.items()) {
      if (!into.contains(key)) into[key] = value;
      else if (key == "next") into[key] = nullptr;  // a page has a mark in a single database only
      else if (key == "verdict" && is_worse) into[key] = value;
      else if (key == "complete") into[key] = into[key] == true && value == true;
      else if (has_no_sum(key) && into[key].is_number() && value.is_number()) into[key] = std::max(into[key], value);
      else if (is_search_end(key) && into[key].is_string() && value.is_string()) into[key] = std::max(into[key], value);
      else merge(into[key], value);
    }
    if (into.contains("is_well")) into["is_well"] = is_well;
  }
}

/// The time down to which each database has given its rows; empty: each has given all. Older rows of one database would
/// look as if the others had none.
std::string shown_down_to(const std::vector<ShardAnswer>& answers) {
  std::string out;
  for (const ShardAnswer& one : answers) {
    const Document& document = one.answer.document;
    if (!document.is_object() || document.value("next", Document{}).is_null()) continue;
    for (const Document& member : document) {
      if (member.is_array() && !member.empty()) out = std::max(out, time_in(member.back()));
    }
  }
  return out;
}

void leave_out_older(Answer& answer, const std::string& time) {
  for (Document& member : answer.document) {
    if (!member.is_array()) continue;
    std::erase_if(member.get_ref<Document::array_t&>(), [&](const Document& row) {
      const std::string its_time = time_in(row);
      return !its_time.empty() && its_time < time;
    });
  }
  answer.document["next"] = nullptr;
  answer.message = "rows before " + time;
}

/// Ids of events are of one database. Numbers of dead letters and of quarantined records are not.
Answer only_one(std::vector<ShardAnswer>& answers) {
  std::vector<ShardAnswer*> having;
  for (ShardAnswer& one : answers) {
    if (one.answer.code == ExitCode::done) having.push_back(&one);
  }
  if (having.empty()) return std::move(answers.front().answer);
  if (having.size() > 1) {
    std::vector<std::string> files;
    for (const ShardAnswer* const one : having) files.push_back(one->file);
    return {ExitCode::usage, nullptr, "several databases have it: in place of --shards, pass --config with " +
                                          base::joined(files)};
  }
  ShardAnswer& chosen = *having.front();
  if (chosen.answer.document.is_object()) {
    chosen.answer.document = with_shard(std::move(chosen.answer.document), chosen);
  }
  return std::move(chosen.answer);
}

}  // namespace

void name_away(Document& document, const std::vector<std::string>& away) {
  if (away.empty()) return;
  if (document.is_null()) document = Document::object();
  if (!document.contains("findings")) {
    document["away"] = away;
    return;
  }
  Document findings = Document::array();
  for (const std::string& message : away) {
    document["problems"].push_back(message);
    findings.push_back({{"severity", "problem"},
                        {"kind", "database_away"},
                        {"message", message},
                        {"remedy", nullptr},
                        {"since", nullptr}});
  }
  findings.insert(findings.end(), document["findings"].begin(), document["findings"].end());
  document["findings"] = std::move(findings);
  document["verdict"] =
      away.front() + (document.value("is_well", false) ? "" : "; " + document.value("verdict", std::string{}));
  document["is_well"] = false;
}

Answer merged(std::vector<ShardAnswer> answers, bool is_about_one) {
  if (is_about_one) return only_one(answers);
  Answer out;
  const std::string shown = shown_down_to(answers);
  // A list is found if any database has rows of it; a status is well if each is.
  const bool is_found = std::ranges::any_of(answers, [](const ShardAnswer& one) {
    return one.answer.code == ExitCode::done && one.answer.document.is_object() && one.answer.document.contains("next");
  });
  for (ShardAnswer& one : answers) {
    if (!is_found) out.code = std::max(out.code, one.answer.code);
    if (!one.answer.document.is_object()) continue;
    mark_rows(one.answer.document, one);
    if (out.document.is_null())
      out.document = std::move(one.answer.document);
    else
      merge(out.document, one.answer.document);
  }
  if (!shown.empty()) leave_out_older(out, shown);
  return out;
}

}  // namespace inboxd::cli
