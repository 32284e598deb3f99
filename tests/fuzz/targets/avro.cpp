// Hostile bytes under hostile schemas: the reader neither crashes nor exceeds its limit, and what it writes is JSON.
#include "event/json_text.hpp"
#include "formats/avro_reader.hpp"
#include "formats/avro_schema.hpp"
#include "fuzz/target.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::size_t max_bytes = 10'000;
  fuzz::Input input{data, size};
  const auto form = input.below(2) == 0 ? config::JsonForm::plain : config::JsonForm::standard;
  const auto all = input.rest();
  // The schema ends at the first newline.
  const auto end = std::min(all.find('\n'), all.size());
  const auto schema = formats::parse_avro(all.substr(0, end));
  if (!schema) {
    fuzz::require(!schema.problem().message.empty(), "a refused schema says why");
    return 0;
  }
  std::string json;
  const std::string problem =
      formats::read_avro(schema.value(), all.substr(std::min(end + 1, all.size())), form, max_bytes, json);
  fuzz::require(json.size() <= max_bytes + 8 * size + 200'000, "the JSON is limited");
  if (problem.empty()) fuzz::require(event::json_in(json).is_json(), "what is read is JSON");
  return 0;
}
