#include <map>

#include "operations/dead_queries.hpp"
#include "operations/documents.hpp"
#include "operations/key_argument.hpp"
#include "operations/lane_queries.hpp"
#include "operations/operation_table.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

struct ReadFilter {
  LaneFilter filter;
  std::optional<Answer> refusal;
};

ReadFilter filter_of(const std::string& verb, const Arguments& arguments) {
  ReadFilter out;
  out.filter.handler = arguments.text("handler");
  auto key = read_key(verb, arguments);
  out.filter.key = std::move(key.key);
  out.refusal = std::move(key.refusal);
  return out;
}

struct PickedKeys {
  std::vector<std::int64_t> ids;
  std::map<std::string, std::int64_t> handlers;
  bool more = false;
};

PickedKeys pick(Context& context, const LaneFilter& filter) {
  PickedKeys out;
  std::optional<std::vector<std::int64_t>> agreed;
  if (!context.agreed.is_null()) {
    agreed = context.agreed.at("dead_letter_ids").get<std::vector<std::int64_t>>();
    out.more = context.agreed.at("more").get<bool>();
  }
  auto keys = pick_parked(*context.connection, filter, agreed, context.max_rows + 1);
  if (static_cast<std::int64_t>(keys.size()) > context.max_rows) {
    out.more = true;
    keys.pop_back();
  }
  for (const auto& key : keys) {
    out.ids.push_back(key.dead_letter_id);
    ++out.handlers[key.handler];
  }
  return out;
}

struct Released {
  std::int64_t events = 0;
  bool interrupted = false;
};

Released release(Context& context, const Deed& deed, const std::vector<std::int64_t>& ids) {
  Released out;
  bool is_stopped = false;
  const auto total = static_cast<std::int64_t>(ids.size());
  const bool interrupted = in_batches(context, {"released keys"}, total, [&](std::int64_t begin, std::int64_t end) {
    if (is_stopped) return end;
    Replayed some = release_parked(*context.connection, {ids.begin() + begin, ids.begin() + end}, deed);
    out.events += some.letters;
    while (!some.parking.empty() && !is_stopped) {
      is_stopped = context.pause(std::chrono::milliseconds{0});
      if (is_stopped) break;
      some = release_parked(*context.connection, some.parking, deed);
      out.events += some.letters;
    }
    return end;
  });
  out.interrupted = interrupted || is_stopped;
  return out;
}

}  // namespace

Answer functions::lanes_list(Context& context, const Arguments& arguments) {
  const auto read = filter_of("lanes list", arguments);
  if (read.refusal) return *read.refusal;
  Document lanes = list_lanes(*context.connection, read.filter, *arguments.number("limit"));
  const bool is_empty = lanes.empty();
  Document document{{"lanes", std::move(lanes)}};
  if (!is_empty) return {base::ExitCode::done, std::move(document), ""};
  return nothing_matches(context, arguments, std::move(document), "no key is blocked or parked");
}

Answer functions::lanes_release(Context& context, const Arguments& arguments) {
  const auto read = filter_of("lanes release", arguments);
  if (read.refusal) return *read.refusal;
  if (!read.filter.handler && !read.filter.key && !arguments.flag("all")) {
    return {base::ExitCode::usage, nullptr, "lanes release: pass --handler, --key, --key-hex or --all"};
  }
  const PickedKeys picked = pick(context, read.filter);
  const bool dry_run = arguments.flag("dry-run");
  Document document = {{"dry_run", dry_run},
                       {"matched", picked.ids.size()},
                       {"more", picked.more},
                       {"handlers", picked.handlers},
                       {"waiting", count_parked_behind(*context.connection, picked.ids)}};
  if (picked.ids.empty()) return nothing_matches(context, arguments, document, "no parked key matches");
  const std::string about_more = picked.more
                                     ? "lanes release: limited to the first " + std::to_string(picked.ids.size()) +
                                           "; repeat the command for the rest"
                                     : "";
  if (dry_run) {
    return {base::ExitCode::done, document, about_more, {{"dead_letter_ids", picked.ids}, {"more", picked.more}}};
  }
  const Released released = release(context, {context.actor, arguments.asked()}, picked.ids);
  document["released"] = released.events;
  document["interrupted"] = released.interrupted;
  if (!released.interrupted) return {base::ExitCode::done, document, about_more};
  return {
      base::ExitCode::try_again, document,
      "lanes release: stopped after " + std::to_string(released.events) + " events; repeat the command for the rest"};
}

}  // namespace inboxd::operations
