#include <algorithm>

#include "base/text.hpp"
#include "event/headers.hpp"
#include "operations/documents.hpp"
#include "operations/find_dead.hpp"
#include "operations/operation_table.hpp"

namespace inboxd::operations {
namespace {

constexpr const char* edit_verb = "dead edit";

/// A header as typed: NAME=VALUE.
struct TypedHeader {
  std::string name;
  std::string value;
};

std::optional<Answer> read_headers(const Arguments& arguments, std::vector<TypedHeader>& out) {
  for (const std::string& text : arguments.texts("header")) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Answer{
          base::ExitCode::usage, nullptr,
          std::string{edit_verb} + ": --header " + base::json_quote(base::shorten(text, 100)) + ": pass NAME=VALUE"};
    }
    out.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  if (!out.empty() || arguments.bytes("payload")) return std::nullopt;
  return Answer{base::ExitCode::usage, nullptr, std::string{edit_verb} + ": pass --payload, --header or both"};
}

/// The packed headers; typed headers replace headers of the same names.
std::optional<std::string> with_headers(const std::optional<std::string>& packed,
                                        const std::vector<TypedHeader>& typed) {
  if (typed.empty()) return packed;
  auto headers = event::unpack_headers(packed ? std::string_view{*packed} : std::string_view{});
  std::erase_if(headers, [&](const event::Header& header) {
    return std::ranges::any_of(typed, [&](const TypedHeader& one) { return one.name == header.name; });
  });
  for (const TypedHeader& one : typed) headers.push_back({one.name, one.value});
  return event::pack_headers(headers);
}

Answer refuse_edit(const Arguments& arguments, Document document, const std::string& message,
              base::ExitCode code = base::ExitCode::no) {
  document["dry_run"] = arguments.flag("dry-run");
  return {code, std::move(document), edit_verb + (": " + message)};
}

Document summaries_of(const std::vector<DeadLetter>& letters) {
  Document out = Document::array();
  for (const auto& letter : letters) out.push_back(letter_document(letter, false));
  return {{"dead_letters", std::move(out)}};
}

struct OneLetter {
  DeadLetter letter;
  std::optional<Answer> refusal;
};

OneLetter find_one(Context& context, const Arguments& arguments) {
  const auto found = find_letters(context, edit_verb, {*arguments.text("id")}, Digits::number);
  if (found.refusal) {
    Answer out = *found.refusal;
    out.document["dry_run"] = arguments.flag("dry-run");
    return {{}, std::move(out)};
  }
  auto letters = find_dead(*context.connection, found.dead_letter_ids, found.event_ids);
  if (const auto handler = arguments.text("handler")) {
    std::erase_if(letters, [&](const DeadLetter& letter) { return letter.handler != *handler; });
    if (letters.empty()) {
      return {{},
              refuse_edit(arguments, Document::object(),
                     "the event is no dead letter of handler \"" + base::escape_controls(*handler) + "\"")};
    }
  }
  if (!context.agreed.is_null()) {
    std::erase_if(letters, [&](const DeadLetter& letter) {
      return letter.dead_letter_id != context.agreed.at("dead_letter_id").get<std::int64_t>();
    });
  }
  if (letters.size() == 1) return {std::move(letters.front()), std::nullopt};
  if (letters.empty()) return {{}, refuse_edit(arguments, Document::object(), "the dead letter is gone")};
  return {{},
          refuse_edit(arguments, summaries_of(letters),
                 "the event is a dead letter of " + std::to_string(letters.size()) +
                     " handlers; pass --handler or a number from `dead list`")};
}

Document size_of(const std::optional<std::string>& payload) {
  return payload ? Document(payload->size()) : Document(nullptr);
}

Answer replay(Context& context, const Arguments& arguments, std::int64_t dead_letter_id, const Content& content,
              Document document) {
  const Deed deed{context.actor, arguments.asked()};
  auto replayed = edit_dead(*context.connection, dead_letter_id, content, deed);
  if (!replayed) {
    return refuse_edit(
        arguments, std::move(document),
        "nothing was changed: the dead letter is gone, another dead letter parks its key, a back-fill has yet to pass "
        "it, or its handler is retired; `dead show` has its state");
  }
  const bool is_whole = bring_back_rest(context, edit_verb, deed, replayed->parking, *replayed);
  document["replayed"] = replayed->letters;
  document["interrupted"] = !is_whole;
  if (is_whole) return {base::ExitCode::done, std::move(document), ""};
  return refuse_edit(arguments, std::move(document),
                     "stopped; `lanes release` delivers the events that are still parked", base::ExitCode::try_again);
}

}  // namespace

Answer functions::dead_edit(Context& context, const Arguments& arguments) {
  std::vector<TypedHeader> headers;
  if (auto refusal = read_headers(arguments, headers)) return std::move(*refusal);
  auto [letter, refusal] = find_one(context, arguments);
  if (refusal) return std::move(*refusal);
  // A second edit changes the first.
  const auto earlier = edit_of(*context.connection, letter);
  Content content = earlier ? earlier->content : letter.event.content;
  Document document = {{"dry_run", arguments.flag("dry-run")},
                       {"dead_letter_id", letter.dead_letter_id},
                       {"event_id", letter.event.event_id.text()},
                       {"handler", letter.handler},
                       {"payload_size_before", size_of(content.payload)}};
  if (auto payload = arguments.bytes("payload")) content.payload = std::move(payload);
  content.headers = with_headers(content.headers, headers);
  document["payload_size"] = size_of(content.payload);
  document["headers"] = headers_of(content.headers);
  const auto parked = count_parked_behind(*context.connection, {letter.dead_letter_id});
  if (parked > 0) document["parked"] = parked;
  if (arguments.flag("dry-run")) {
    return {base::ExitCode::done, std::move(document), "", {{"dead_letter_id", letter.dead_letter_id}}};
  }
  return replay(context, arguments, letter.dead_letter_id, content, std::move(document));
}

}  // namespace inboxd::operations
