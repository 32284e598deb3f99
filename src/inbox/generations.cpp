#include "inbox/generations.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include "base/sha256.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

constexpr std::size_t part_bytes = 1 << 20;

/// Of a whole stored filter, as this machine reads it: another byte order has another digest, and so had filters
/// without their key.
std::int64_t digest_of(const std::string& stored) {
  const std::string hex =
      base::sha256_hex(stored + (std::endian::native == std::endian::little ? "key, little" : "key, big"));
  std::uint64_t out = 0;
  std::from_chars(hex.data(), hex.data() + 16, out, 16);
  return static_cast<std::int64_t>(out);
}

}  // namespace

std::vector<StoredGeneration> read_generations(Connection& connection) {
  std::vector<StoredGeneration> out;
  for (const auto& row : connection.access().run(statements::ledger_generations, {}, Effect::reads)) {
    out.push_back({{row[0].as<std::int32_t>(), row[1].as<std::int64_t>()},
                   row[2].as<std::int64_t>(),
                   row[3].as<std::int32_t>(),
                   row[4].as<std::int64_t>()});
  }
  return out;
}

std::vector<base::Uuid> read_ids(Connection& connection, std::int32_t generation, std::int64_t first_block,
                                 std::int64_t end_block) {
  std::vector<base::Uuid> out;
  const auto rows = connection.access().run(statements::ledger_ids, pqxx::params{generation, first_block, end_block},
                                            Effect::reads);
  if (rows[0][0].is_null()) return out;
  const auto bytes = rows[0][0].as<std::basic_string<std::byte>>();
  out.resize(bytes.size() / 16);
  for (std::size_t i = 0; i < out.size(); ++i) std::memcpy(out[i].bytes.data(), bytes.data() + 16 * i, 16);
  return out;
}

std::shared_ptr<IdFilter> read_filter(Connection& connection, const StoredGeneration& generation) {
  std::string stored;  // the key, and the bits
  std::optional<std::int64_t> digest;  // the same in each part, or two instances have stored different filters
  for (std::int32_t part = 0; part < generation.filter_parts; ++part) {
    const auto rows = connection.access().run(
        statements::ledger_filter_part, pqxx::params{generation.frozen.filter_key, part}, Effect::reads);
    if (rows.empty()) return nullptr;
    const auto bytes = rows[0][1].as<std::basic_string<std::byte>>();
    const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    if (digest && *digest != rows[0][0].as<std::int64_t>()) return nullptr;
    digest = rows[0][0].as<std::int64_t>();
    stored += text;
  }
  std::int64_t key = 0;
  if (digest != digest_of(stored) || stored.size() < sizeof key) return nullptr;
  std::memcpy(&key, stored.data(), sizeof key);
  return std::make_shared<IdFilter>(key, std::string_view{stored}.substr(sizeof key));
}

void store_filter(Connection& connection, std::int64_t filter_key, const IdFilter& filter) {
  const std::int64_t key = filter.key();
  std::string stored{reinterpret_cast<const char*>(&key), sizeof key};
  stored += filter.bits();
  const auto parts = static_cast<std::int32_t>((stored.size() + part_bytes - 1) / part_bytes);
  const std::int64_t digest = digest_of(stored);
  auto& access = connection.access();
  access.transaction([&](pqxx::work& tx) {
    access.run_in(tx, statements::delete_filter, pqxx::params{filter_key});
    for (std::int32_t part = 0; part < parts; ++part) {
      const auto piece = std::string_view{stored}.substr(static_cast<std::size_t>(part) * part_bytes, part_bytes);
      access.run_in(tx, statements::store_filter_part,
                    pqxx::params{filter_key, part, parts, digest, pqxx::binary_cast(piece)});
    }
    return true;
  });
}

bool freeze_generation(Connection& connection, std::int64_t ids, const std::optional<std::chrono::milliseconds>& keep) {
  const auto milliseconds = keep ? std::optional{static_cast<std::int64_t>(keep->count())} : std::nullopt;
  return connection.access()
      .run(statements::freeze_generation, pqxx::params{ids, milliseconds, base::random_fence()})[0][0]
      .as<bool>();
}

DroppedGeneration drop_generation(Connection& connection, std::chrono::milliseconds keep) {
  const auto row =
      connection.access().run(statements::drop_generation, pqxx::params{static_cast<std::int64_t>(keep.count())})[0];
  return {row[0].as<std::optional<std::int32_t>>(), row[1].as<std::int64_t>(), row[2].as<std::int32_t>()};
}

}  // namespace inboxd::inbox
