#include "operations/plaintext.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::operations;

TEST_CASE("brokers on another machine that a client talks to without TLS are named") {
  CHECK(plaintext_broker("localhost:9092,127.0.0.1:9093, [::1]:9094", {}).empty());
  CHECK(plaintext_broker("localhost:9092, kafka:9092", {}) == "kafka:9092");
  CHECK(plaintext_broker("PLAINTEXT://10.0.0.1:9092", {}) == "PLAINTEXT://10.0.0.1:9092");
  CHECK(plaintext_broker("kafka:9092", {{"security.protocol", "sasl_plaintext"}}) == "kafka:9092");
  CHECK(plaintext_broker("kafka:9092", {{"security.protocol", "SASL_SSL"}}).empty());
  CHECK(plaintext_broker("kafka:9092", {{"security.protocol", "ssl"}}).empty());
}
