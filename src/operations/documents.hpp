#pragma once
#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "event/offset_set.hpp"
#include "operations/operation.hpp"
#include "operations/stored_event.hpp"

/// Values as JSON. Times are RFC 3339 in UTC. Bytes are text if they are UTF-8, else {"base64": …}. Missing values are
/// null.
namespace inboxd::operations {

Document time_of(event::Microseconds time);
Document time_of(const std::optional<event::Microseconds>& time);
Document bytes_of(const std::optional<std::string>& bytes);
Document text_of(const std::optional<std::string>& text);
/// Seconds, with a fraction.
Document seconds_of(const std::optional<std::chrono::microseconds>& duration);
/// Adds a number, and `at_least_KEY: true` if counting stopped at a limit.
void put_count(Document& into, const std::string& key, const Count& count);
Document range_of(const event::OffsetRange& range);
/// [{"name", "value"}], in order, with repetitions.
Document headers_of(const std::optional<std::string>& packed);
Document worker_of(const std::optional<Worker>& worker);

}  // namespace inboxd::operations

/// Builds JSON schemas of documents in the dialect of OpenAPI 3.1. Pure.
namespace inboxd::operations::schema {

Document text(const std::string& about = "");
Document integer(const std::string& about = "");
Document number(const std::string& about = "");
Document flag(const std::string& about = "");
Document time(const std::string& about = "");
Document uuid(const std::string& about = "");
Document bytes();
Document anything(const std::string& about);
Document word(std::initializer_list<const char*> words);
Document list(Document items);
/// An object of any names, each with such a value.
Document map(Document values);
Document reference(const std::string& component);
Document or_null(Document schema);
Document any_of(std::initializer_list<Document> schemas);

struct Field {
  std::string name;
  Document schema;
  bool is_always = true;  ///< false: optional
};
/// Later versions may add fields.
Document object(std::initializer_list<Field> fields);
Document extended(Document object, std::initializer_list<Field> fields);
/// A number, with `at_least_NAME: true` if counting stopped at a limit.
Document with_count(Document object, const std::string& name, const std::string& about);

}  // namespace inboxd::operations::schema
