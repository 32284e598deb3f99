// `lanes`: keys of sequential handlers whose events wait.
#include "operations/documents.hpp"
#include "operations/find_dead.hpp"
#include "operations/key_argument.hpp"
#include "operations/operation_table.hpp"
#include "operations/picked_rows.hpp"
#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "operations/unknown_name.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

/// By handler and key.
struct LaneFilter {
  pqxx::params parameters;
  std::optional<Answer> refusal;
};

LaneFilter lane_filter_of(const std::string& verb, const Arguments& arguments) {
  auto key = read_key(verb, arguments);
  return {pqxx::params{arguments.text("handler"), bytes_parameter(key.key)}, std::move(key.refusal)};
}

/// The dead letters that park the keys.
PickedRows pick_parked(Context& context, const LaneFilter& filter) {
  return pick_rows(context, "dead_letter_ids", [&](const auto& agreed, std::int64_t limit) {
    pqxx::params parameters{filter.parameters};
    agreed ? parameters.append(array_parameter(*agreed)) : parameters.append();
    parameters.append(limit);
    return read_picked(*context.connection, inbox::statements::op_lanes_pick, parameters);
  });
}

struct Released {
  Replayed sum;
  bool interrupted = false;
};

Released release(Context& context, const Deed& deed, const RowIds& ids) {
  Released out;
  bool is_stopped = false;
  const bool interrupted = in_batches(context, {"released keys"}, std::ssize(ids), [&](auto begin, auto end) {
    if (is_stopped) return end;
    const Replayed some = release_parked(*context.connection, {ids.begin() + begin, ids.begin() + end}, deed);
    out.sum.letters += some.letters;
    is_stopped = !bring_back_rest(context, "lanes release", deed, some.parking, out.sum, release_parked);
    return end;
  });
  out.interrupted = interrupted || is_stopped;
  return out;
}

}  // namespace

Answer functions::lanes_list(Context& context, const Arguments& arguments) {
  const auto filter = lane_filter_of("lanes list", arguments);
  if (filter.refusal) return *filter.refusal;
  Document lanes = list_rows(*context.connection, inbox::statements::op_lanes_list,
                             pqxx::params{filter.parameters, *arguments.number("limit")}, columns::lane);
  const bool is_empty = lanes.empty();
  Document document{{"lanes", std::move(lanes)}};
  if (!is_empty) return {base::ExitCode::done, std::move(document), ""};
  return nothing_matches(context, arguments, std::move(document), "no key is blocked or parked");
}

Answer functions::lanes_release(Context& context, const Arguments& arguments) {
  const auto filter = lane_filter_of("lanes release", arguments);
  if (filter.refusal) return *filter.refusal;
  if (!arguments.text("handler") && !arguments.text("key") && !arguments.text("key-hex") && !arguments.flag("all")) {
    return {base::ExitCode::usage, nullptr, "lanes release: pass --handler, --key, --key-hex or --all"};
  }
  const PickedRows picked = pick_parked(context, filter);
  const bool dry_run = arguments.flag("dry-run");
  Document document = {{"dry_run", dry_run},
                       {"matched", picked.ids.size()},
                       {"more", picked.more},
                       {"handlers", picked.names},
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
  document["released"] = released.sum.letters;
  document["interrupted"] = released.interrupted;
  if (!released.interrupted) return {base::ExitCode::done, document, about_more};
  return {base::ExitCode::try_again, document,
          "lanes release: stopped after " + std::to_string(released.sum.letters) +
              " events; repeat the command for the rest"};
}

}  // namespace inboxd::operations
