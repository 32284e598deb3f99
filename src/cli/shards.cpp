#include "cli/shards.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cli/operator.hpp"
#include "config/shard_files.hpp"
#include "daemon/load_configuration.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;
using operations::Document;

/// Each row and sentence says which database it is from.
void mark_rows(Document& document, int index) {
  for (auto& member : document) {
    if (member.is_object()) mark_rows(member, index);
    if (!member.is_array()) continue;
    for (auto& row : member) {
      if (row.is_string()) row = "shard " + std::to_string(index) + ": " + row.get<std::string>();
      if (!row.is_object()) continue;
      Document marked{{"shard", index}};
      marked.update(row);
      row = std::move(marked);
    }
  }
}

/// Ages, times and shares of several databases have a worst, and no sum.
bool has_no_sum(std::string_view key) {
  return key.ends_with("seconds") || key.ends_with("_share") || key.ends_with("_per_second") || key.ends_with("_left");
}

void merge(Document& into, const Document& more) {
  if (into.is_null()) {
    into = more;
  } else if (into.is_array() && more.is_array()) {
    into.insert(into.end(), more.begin(), more.end());
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
      else if (has_no_sum(key) && into[key].is_number() && value.is_number()) into[key] = std::max(into[key], value);
      else merge(into[key], value);
    }
    if (into.contains("is_well")) into["is_well"] = is_well;
  }
}

Answer only_one(std::vector<ShardAnswer>& answers) {
  const auto found = std::ranges::find_if(answers, [](const auto& one) { return one.answer.code == ExitCode::done; });
  ShardAnswer& chosen = found == answers.end() ? answers.front() : *found;
  if (found != answers.end() && chosen.answer.document.is_object()) {
    Document marked{{"shard", chosen.index}};
    marked.update(chosen.answer.document);
    chosen.answer.document = std::move(marked);
  }
  return std::move(chosen.answer);
}

/// `needs_secret`: of the operation.
std::optional<ShardAnswer> ask(const Session& session, const std::string& file,
                               const operations::Operation& operation, const operations::Arguments& arguments,
                               const config::NeedsSecret& needs_secret) {
  Session own = session;
  own.config_file = file;
  const auto loaded = own.load_with(needs_secret);
  if (!loaded) return std::nullopt;
  Operator worker{own, operation, loaded->settings, nullptr};
  return ShardAnswer{loaded->settings.shard.index, worker.ask(arguments)};
}

}  // namespace

Answer merged(std::vector<ShardAnswer> answers, bool is_about_one) {
  if (is_about_one) return only_one(answers);
  Answer out;
  for (ShardAnswer& one : answers) {
    out.code = std::max(out.code, one.answer.code);
    if (!one.answer.document.is_object()) continue;
    mark_rows(one.answer.document, one.index);
    if (out.document.is_null())
      out.document = std::move(one.answer.document);
    else
      merge(out.document, one.answer.document);
  }
  return out;
}

ExitCode read_shards(const Session& session, const operations::Operation& operation,
                     const operations::Arguments& arguments, Presenter presenter,
                     const config::NeedsSecret& needs_secret) {
  const auto files = config::shard_files(session.shards_file);
  if (!files) {
    session.say(files.problem().message);
    return ExitCode::configuration;
  }
  std::vector<ShardAnswer> answers;
  auto worst = ExitCode::done;
  for (const std::string& file : files.value()) {
    auto one = ask(session, file, operation, arguments, needs_secret);
    if (!one) return ExitCode::configuration;
    const bool has_answered = one->answer.code == ExitCode::done || one->answer.code == ExitCode::no;
    if (!has_answered || (!one->answer.message.empty() && operation.not_one == nullptr)) {
      session.say("shard " + std::to_string(one->index) + " (" + file + "): " + one->answer.message);
    }
    if (has_answered)
      answers.push_back(std::move(*one));
    else
      worst = std::max(worst, one->answer.code);
  }
  if (answers.empty()) return worst;
  const Answer all = merged(std::move(answers), operation.not_one != nullptr);
  if (!all.document.is_null()) {
    if (session.json)
      session.print(all.document);
    else
      session.output.out << presenter(all.document, session.output.look) << std::flush;
  }
  if (!all.message.empty()) session.say(all.message);
  return std::max(worst, all.code);
}

ExitCode refuse_shards(const Session& session, const std::string& verb) {
  const auto files = config::shard_files(session.shards_file);
  session.say(files ? verb + " runs on one database: in place of --shards, pass --config with " +
                          base::joined(files.value())
                    : files.problem().message);
  return files ? ExitCode::usage : ExitCode::configuration;
}

}  // namespace inboxd::cli
