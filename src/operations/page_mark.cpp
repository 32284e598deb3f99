#include "operations/page_mark.hpp"

#include "operations/find_event.hpp"

namespace inboxd::operations {
namespace {

std::optional<PageMark> read_mark(std::string_view text, std::size_t size) {
  PageMark out;
  for (;;) {
    const auto end = text.find('/');
    const auto number = parse_number(text.substr(0, end));
    if (!number) return std::nullopt;
    out.push_back(*number);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out.size() == size ? std::optional{out} : std::nullopt;
}

}  // namespace

std::string text_of_mark(const PageMark& mark) {
  std::string out;
  for (const std::int64_t number : mark) out.append(out.empty() ? "" : "/").append(std::to_string(number));
  return out;
}

BeforeArgument read_before(const std::string& verb, const Arguments& arguments, std::size_t size) {
  const auto text = arguments.text("before");
  if (!text) return {};
  if (auto mark = read_mark(*text, size)) return {std::move(mark), std::nullopt};
  return {std::nullopt, Answer{base::ExitCode::usage, nullptr,
                               verb + ": --before takes `next` of an earlier answer, as --json shows it"}};
}

Parameter before_parameter() {
  return {"before", Parameter::Kind::text, "the next page: `next` of an earlier answer", "MARK"};
}

}  // namespace inboxd::operations
