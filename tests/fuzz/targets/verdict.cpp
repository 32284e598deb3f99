// A plugin's verdict: from any struct the daemon gets a verdict that can be stored.
#include "base/text.hpp"
#include "fuzz/target.hpp"
#include "plugin/call.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  inboxd_verdict said{};
  said.struct_size = input.below(4) == 0 ? input.byte() : sizeof said;
  said.outcome = static_cast<decltype(said.outcome)>(static_cast<std::int8_t>(input.byte()) % 10);
  const auto high = input.number();
  said.delay_ms = static_cast<std::int64_t>(static_cast<std::uint64_t>(high) << (input.below(33)) | input.byte());
  const auto error_class = input.text(), message = input.rest();
  said.error_class = {error_class.data(), error_class.size()};
  said.message = {message.data(), message.size()};
  const auto verdict = plugin::verdict_of(&said);
  fuzz::require(verdict.error_class.size() <= INBOXD_ERROR_CLASS_LIMIT, "a class keeps its limit");
  fuzz::require(base::is_database_text(verdict.message), "a message can be stored");
  fuzz::require(!verdict.delay || (verdict.delay->count() >= 0 && verdict.delay->count() <= INBOXD_MAX_DELAY_MS),
                "a delay keeps its limits");
  return 0;
}
