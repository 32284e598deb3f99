#include "cli/operator.hpp"

#include <algorithm>
#include <stdexcept>

#include "event/now.hpp"

namespace inboxd::cli {

operations::Answer Reader::ask(const std::string& verb, const std::map<std::string, std::vector<std::string>>& given) {
  const auto row = std::find_if(table_.begin(), table_.end(), [&](const auto& one) { return one.verb == verb; });
  if (row == table_.end()) throw std::logic_error{"no operation " + verb};
  const auto arguments = operations::read_arguments(row->parameters, given, event::now());
  if (!arguments) return {base::ExitCode::usage, nullptr, arguments.problem().message};
  auto& open = open_[verb];
  if (!open) open = std::make_unique<Operator>(session_, *row, settings_, &interrupt_);
  return open->ask(arguments.value());
}

}  // namespace inboxd::cli
