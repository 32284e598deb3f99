// A topic in Avro into a table, against the same records in JSON.
#include <cstdio>

#include "application_table.hpp"
#include "kafka_bench.hpp"
#include "scenarios.hpp"
#include "support/fake_registry.hpp"

namespace inboxd::bench {
namespace {

constexpr int schema_id = 7;
constexpr const char* schema = R"({"type":"record","name":"Order","namespace":"bench","fields":[
  {"name":"order","type":"string"},{"name":"customer","type":"string"},{"name":"quantity","type":"int"},
  {"name":"total","type":"long"},{"name":"paid","type":"boolean"},{"name":"coupon","type":["null","string"]},
  {"name":"placed","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"note","type":"string"}]})";
constexpr std::int64_t first_placed_ms = 1'709'208'000'000;
/// The JSON of a record has about 256 bytes with this note.
const std::string note(90, 'x');

std::string order_of(std::int64_t number) {
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(number));
  return out;
}

std::string in_json(std::int64_t number) {
  return R"({"order":")" + order_of(number) + R"(","customer":"customer-)" + std::to_string(number % 10'000) +
         R"(","quantity":3,"total":)" + std::to_string(number) +
         R"(,"paid":true,"coupon":null,"placed":"2024-02-29T12:00:00.000Z","note":")" + note + "\"}";
}

std::string whole(std::int64_t number) {
  auto bits = static_cast<std::uint64_t>(number) << 1;
  std::string out;
  for (; bits >= 128; bits >>= 7) out += static_cast<char>(bits | 128);
  return out + static_cast<char>(bits);
}

std::string text(const std::string& value) { return whole(static_cast<std::int64_t>(value.size())) + value; }

std::string in_avro(std::int64_t number) {
  return std::string{0, 0, 0, 0, schema_id} + text(order_of(number)) +
         text("customer-" + std::to_string(number % 10'000)) + whole(3) + whole(number) + '\1' + whole(0) +
         whole(first_placed_ms) + text(note);
}

}  // namespace

void measure_avro(const Options& options, Report& report) {
  support::FakeRegistry registry;
  registry.add_schema(schema_id, schema);
  KafkaBench bench{options};
  Topic json{options.kafka, options.partitions}, avro{options.kafka, options.partitions};
  const Generator ids{1, options.payload};
  json.preload_made(ids, options.events, in_json);
  avro.preload_made(ids, options.events, in_avro);
  DaemonSettings settings = bench.settings();
  settings.plugin = "sql";
  settings.handler_settings = insert_settings();
  settings.connections = 24;
  const auto run = [&](const char* name, const Topic& topic, const std::string& format) {
    settings.topic = topic.name();
    settings.envelope = "custom, custom: {id: 'json:/order'}" + format;
    create_application_table(bench.control);
    const MeasuredRun measured = bench.daemon(settings).settled;
    check_application_table(bench.control, options.events);
    report.run(name, measured);
    return measured.rate();
  };
  std::vector<double> ratios, rates;
  for (int round = 0; round < options.rounds; ++round) {
    const double of_json = run("sql, JSON", json, "");
    rates.push_back(run("sql, Avro", avro, ", value: {format: avro, registry: {url: '" + registry.url() + "'}}"));
    ratios.push_back(rates.back() / of_json);
  }
  report.goal("Avro into a table by sql, 8 fields", rate_text(median(rates)), ">= 60k/s", median(rates) >= 60'000);
  report.goal("the same, of JSON", fixed(median(ratios), 2), ">= 0.60", median(ratios) >= 0.6);
}

}  // namespace inboxd::bench
