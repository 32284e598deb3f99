// The settings of formats: topics[].value and topics[].key.
#include "config/settings_table_rows.hpp"

namespace inboxd::config {
namespace {

using namespace rows;

/// Adds the rows of `value` or `key`, with their sentences for the values.
class FormatRows final {
 public:
  FormatRows(std::vector<Row<Topic>>& rows, Format Topic::*of, std::string part)
      : rows_{rows}, of_{of}, part_{std::move(part)} {}

  void add() {
    add_of(choice("format", {"auto", "avro", "protobuf", "json-schema", "json", "text", "bytes"},
                  "How the topic's " + part_ + "s are written. auto: as they come, and JSON is read as JSON; avro, "
                  "protobuf: decoded at ingest with the schema that the record names, or with schema_file; "
                  "json-schema: JSON after a schema's id, not validated; json: JSON, anything else goes to "
                  "quarantine, or over HTTP gets 400; text, bytes: decoded to a JSON string, bytes in base64. With "
                  "source: local, only json, and only for values that come over HTTP."),
           &Format::kind);
    add_of(choice("json", {"plain", "standard"},
                  "The JSON that is made of Avro and Protobuf. plain: for Avro bytes in base64, decimals and times as "
                  "text; for Protobuf names as in the schema, numbers of 64 bits as numbers, fields that are 0 or "
                  "empty, too. standard: the JSON encoding of Avro's or Protobuf's specification."),
           &Format::json);
    add_of(choice("schema_id", {"confluent", "apicurio"},
                  "The prefix with the schema's id: 0 and 4 bytes, or 0 and 8 bytes. A header goes before either: __" +
                      part_ + "_schema_id, apicurio." + part_ + ".globalId or apicurio." + part_ + ".contentId."),
           &Format::schema_id);
    add_of(size("max_decoded", kibibyte, max_payload, "The most bytes of JSON; a record with more goes to quarantine."),
           &Format::max_decoded);
    add_of(example("/etc/inboxd/orders.avsc",
                   name("schema_file", "The schema of all records, which then have no prefix and need no registry: of "
                                       "Avro in JSON; of Protobuf as descriptors, which protoc --include_imports "
                                       "--descriptor_set_out=FILE writes.")),
           &Format::schema_file);
    add_of(example("shop.Order",
                   shaped(name("message", "The full name of the message in schema_file, for Protobuf."),
                          "^[A-Za-z_][A-Za-z0-9_.]{0,254}$", "a name such as shop.Order")),
           &Format::message);
    add_registry();
  }

 private:
  static constexpr std::int64_t max_payload = 64 * mebibyte;

  Description within(Description about) const {
    about.key = part_ + "." + about.key;
    return restart(std::move(about));
  }
  template <class Member>
  void add_of(Description about, Member member) {
    rows_.push_back(row<Topic>(within(std::move(about)), of_, member));
  }
  template <class Member>
  void add_at(Description about, Member member) {
    about.key = "registry." + about.key;
    rows_.push_back(row<Topic>(within(std::move(about)), of_, &Format::registry, member));
  }

  void add_registry() {
    add_at(example("https://registry:8081",
                   shaped(text("url", Exposure::addresses,
                               "The schema registry's address, up to but without /schemas; of Apicurio the address of "
                               "its Confluent API, such as http://apicurio:8080/apis/ccompat/v7."),
                          "^https?://[^@ ?#/]+(/[^@ ?#]*)?$", "an address such as http://registry:8081, without user")),
           &Registry::url);
    add_at(example("inboxd", shaped(name("user", "The user at the registry (HTTP Basic)."), "^[^[:cntrl:]:]{1,200}$",
                                    "a name without a colon")),
           &Registry::user);
    add_at(example("{file: /run/secrets/registry}", plain("password", Type::secret, "The user's password.")),
           &Registry::password);
    add_at(example("{file: /run/secrets/registry-token}",
                   plain("token", Type::secret,
                         "A bearer token in place of a user; a file is read again at each request.")),
           &Registry::token);
    add_at(example("/etc/inboxd/ca.pem", name("tls.ca", "Authorities in PEM; none: those of the system.")),
           &Registry::ca);
    add_at(example("/etc/inboxd/client.pem", name("tls.certificate", "The daemon's certificate in PEM.")),
           &Registry::certificate);
    add_at(example("/etc/inboxd/client.key", name("tls.key", "The key of the certificate in PEM.")), &Registry::key);
    add_at(duration("timeout", 100, minute, "The longest that a request may take."), &Registry::timeout);
    add_at(size("max_answer", kibibyte, 64 * mebibyte, "The most bytes of an answer; records of a larger schema go to "
                                                       "quarantine."),
           &Registry::max_answer);
    add_at(number("max_schemas", 1, 100'000, "The most schemas in memory, unknown ids included."),
           &Registry::max_schemas);
    add_at(duration("unknown_interval", second, hour,
                    "How long records with an id that the registry does not know go to quarantine before it is asked "
                    "again. quarantine retry always asks."),
           &Registry::unknown_interval);
    add_at(number("max_requests_per_minute", 1, 100'000,
                  "The most requests within a minute; beyond that, partitions with new ids wait."),
           &Registry::max_requests_per_minute);
  }

  std::vector<Row<Topic>>& rows_;
  Format Topic::*of_;
  std::string part_;
};

}  // namespace

void add_format_rows(std::vector<Row<Topic>>& rows) {
  FormatRows{rows, &Topic::value, "value"}.add();
  FormatRows{rows, &Topic::key, "key"}.add();
}

}  // namespace inboxd::config
