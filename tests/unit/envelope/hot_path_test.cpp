// Reading a record must not allocate: a counting operator new shows it.
#include <atomic>
#include <cstdlib>
#include <new>

#include "records.hpp"

namespace {
std::atomic<long> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const out = std::malloc(size == 0 ? 1 : size)) return out;
  throw std::bad_alloc{};
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t& how) noexcept { return operator new(size, how); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;

namespace {

long allocations_for(const event::Record& record, const TopicRules& by) {
  base::Arena arena;
  const Decoded first = decode(record, by, arena);  // the arena's first chunk, this thread's parser
  REQUIRE(std::holds_alternative<event::Event>(first));
  const long before = allocations;
  for (int i = 0; i < 10; ++i) static_cast<void>(decode(record, by, arena));
  return allocations - before;
}

}  // namespace

TEST_CASE("reading a record whose id is a UUID in a header allocates nothing but the arena") {
  const std::string payload(1000, 'x');
  const auto record = with_headers({{"id", a_uuid}, {"eventType", "OrderPlaced"}, {"traceparent", "00-1"}}, payload);
  CHECK(allocations_for(record, rules()) == 0);
  CHECK(allocations_for(record, rules(config::EnvelopeKind::outbox_router)) == 0);
}

TEST_CASE("reading a record whose id is a UUID in the key or the value allocates nothing but the arena") {
  config::CustomRules by_key;
  by_key.id = "key";
  CHECK(allocations_for(record("x", a_uuid), custom_rules(by_key)) == 0);
  config::CustomRules by_value;
  by_value.id = "json:/order/id";
  const std::string payload = R"({"order":{"id":")" + std::string{a_uuid} + R"("}})";
  CHECK(allocations_for(record(payload), custom_rules(by_value)) == 0);
}
