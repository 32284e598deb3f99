#include <algorithm>
#include <string>

#include "cli/present.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {
namespace {

/// The last known value and the highest of a list with numbers; false: none is known.
bool last_and_highest(const Document& values, std::string& last, std::string& highest) {
  const Document* most = nullptr;
  for (const Document& value : values) {
    if (value.is_null()) continue;
    if (most == nullptr || value.get<double>() > most->get<double>()) most = &value;
    last = value.dump();
  }
  if (most != nullptr) highest = most->dump();
  return most != nullptr;
}

void add(Table& table, const std::string& name, const Document& of) {
  for (const auto& [field, values] : of.items()) {
    std::string last, highest;
    if (values.is_object()) {
      add(table, name, values);
    } else if (values.is_array() && last_and_highest(values, last, highest)) {
      table.add({{name}, {field}, {last}, {highest}});
    }
  }
}

}  // namespace

std::string present_history(const Document& document, const Look& look) {
  Table table{{{"OF", Align::left, true}, {"FIGURE"}, {"LAST", Align::right}, {"HIGHEST", Align::right}}};
  for (const char* const kind : {"topics", "handlers"}) {
    for (const auto& [name, of] : document.at(kind).items()) add(table, name, of);
  }
  if (table.empty()) return "no step has ended yet; a step takes " + number_at(document, "step_s") + " s\n";
  return table.text(look);
}

}  // namespace inboxd::cli
