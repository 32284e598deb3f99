#include "inbox/id_filter.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace inboxd;
using inbox::IdFilter;

TEST_CASE("a filter knows each of its ids, and takes about three in ten thousand others for known") {
  constexpr int ids = 50'000;
  IdFilter filter{base::random_fence(), ids};
  std::vector<base::Uuid> added;
  for (int i = 0; i < ids; ++i) added.push_back(base::random_uuid());
  for (const auto& id : added) filter.add(id);
  const IdFilter copy{0, filter.bits()};
  int missing = 0, maybe = 0;
  for (const auto& id : added) missing += filter.may_have(id) ? 0 : 1;
  for (int i = 0; i < ids; ++i) maybe += filter.may_have(base::random_uuid()) ? 1 : 0;
  CHECK(missing == 0);
  CHECK(maybe < ids / 1'000);
  CHECK(8.0 * static_cast<double>(filter.bytes()) / ids < 19.5);
  CHECK(copy.bits() == filter.bits());
}

TEST_CASE("ids that one filter knows are strange to a filter with another key") {
  IdFilter one{1, 1000}, other{2, 1000};
  int known = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto id = base::random_uuid();
    one.add(id);
    known += IdFilter{2, one.bits()}.may_have(id) ? 1 : 0;
  }
  CHECK(known < 50);
}

TEST_CASE("ids in the order of time are spread over a filter") {
  IdFilter filter{7, 20'000};
  base::Uuid id{};
  int maybe = 0;
  for (int i = 0; i < 40'000; ++i) {
    id.bytes[5] = static_cast<std::uint8_t>(i >> 8);
    id.bytes[15] = static_cast<std::uint8_t>(i);
    if (i < 20'000) filter.add(id);
    else maybe += filter.may_have(id) ? 1 : 0;
  }
  CHECK(maybe < 200);
}

TEST_CASE("a filter takes at most 20 bits an id, and the same for nearly as many ids") {
  for (const std::int64_t ids : {1'000, 65'536, 7'000'000, 123'456'789}) {
    CHECK(8.0 * static_cast<double>(IdFilter::bytes_for(ids)) / static_cast<double>(ids) <= 20);
  }
  CHECK(IdFilter::bytes_for(7'000'000) == IdFilter::bytes_for(7'050'000));
}
