#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/mock_brokers.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::string big_endian(std::uint64_t number, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
  return out;
}

std::string sized(const std::string& bytes, int size_bytes) { return big_endian(bytes.size(), size_bytes) + bytes; }

std::uint32_t crc32c(const std::string& bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
  }
  return ~crc;
}

/// A record batch of one record with the right checksum. Its attributes say gzip, its bytes are none.
std::string batch_that_only_claims_gzip() {
  constexpr std::uint64_t gzip = 1, none = ~std::uint64_t{0}, magic = 2;
  const std::string checked = big_endian(gzip, 2) + big_endian(0, 4) + big_endian(0, 8) + big_endian(0, 8) +
                              big_endian(none, 8) + big_endian(none, 2) + big_endian(none, 4) + big_endian(1, 4) +
                              "these bytes are no gzip";
  const std::string after_length = big_endian(0, 4) + big_endian(magic, 1) + big_endian(crc32c(checked), 4) + checked;
  return big_endian(0, 8) + sized(after_length, 4);
}

/// A produce request of version 3, as no client library would send it. Waits for the answer.
void produce_raw(const std::string& broker, const std::string& topic, const std::string& batch) {
  constexpr std::uint64_t produce = 0, version = 3, no_id = 0xffff, all_replicas = 0xffff, timeout_ms = 5'000;
  const std::string request = big_endian(produce, 2) + big_endian(version, 2) + big_endian(1, 4) + sized("test", 2) +
                              big_endian(no_id, 2) + big_endian(all_replicas, 2) + big_endian(timeout_ms, 4) +
                              big_endian(1, 4) + sized(topic, 2) + big_endian(1, 4) + big_endian(0, 4) +
                              sized(batch, 4);
  RawConnection connection{std::stoi(broker.substr(broker.rfind(':') + 1))};
  connection.send(sized(request, 4));
  REQUIRE_FALSE(connection.ends(milliseconds{500}));
}

}  // namespace

// fault: corrupt batch: CRC
TEST_CASE("damaged records are read again, then the partition stalls before them; once intact, it continues") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  DaemonFixture fixture{1};
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  const auto is_stalled = [&] {
    return fixture.database.number(
               "select count(*) from inbox.lag where halted_reason like 'not readable: corrupt%'") == 1;
  };
  proxy.corrupt("rotten");
  std::string payload;
  for (int i = 0; i < 20; ++i) payload += "rotten ";
  const std::string id = "7c000000-0000-4000-8000-000000000001";
  fixture.kafka.produce({event_message(fixture.topic, id, payload)});
  fixture.note({id});
  fixture.produce(10);  // in separate, intact batches
  wait_until("it is stalled", is_stalled);
  CHECK(daemon->count_in_log("kind=consumer.corrupt_records") == 1);
  holds_for("it is tried again, and never past it", milliseconds{6'000},
            [&] { return is_stalled() && fixture.position() == 10; });
  CHECK(fixture.offsets_ahead() == 0);

  proxy.corrupt("");
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the reason is gone", [&] { return !is_stalled(); });
}

// fault: corrupt batch: decompression
TEST_CASE("a batch that cannot be decompressed is read again, then its partition stalls before it") {
  MockBrokers brokers;
  DaemonFixture fixture{1};
  brokers.serve(fixture.config);
  brokers.create_topic(fixture.topic, 1);
  Kafka kafka{brokers.addresses()};
  const auto daemon = fixture.start();
  fixture.produce_through(kafka, 10);
  CHECK(fixture.wait_done().is_perfect());
  produce_raw(brokers.addresses(), fixture.topic, batch_that_only_claims_gzip());
  fixture.database.wait_for("it is stalled",
                            "select count(*) from inbox.lag where halted_reason like 'not readable: corrupt%'", 1);
  CHECK(daemon->count_in_log("kind=consumer.corrupt_records") == 1);
  holds_for("it is tried again, and never past it", milliseconds{6'000}, [&] { return fixture.position() == 10; });
  CHECK(fixture.offsets_ahead() == 0);
}
