#pragma once
#include <libpq-fe.h>

namespace inboxd::inbox {

/// The types that have a binary form here, by their oids (pg_type.dat; they never change).
enum Type : Oid {
  bool_type = 16,
  bytea_type = 17,
  name_type = 19,
  int8_type = 20,
  int2_type = 21,
  int4_type = 23,
  text_type = 25,
  oid_type = 26,
  json_type = 114,
  float4_type = 700,
  float8_type = 701,
  unknown_type = 705,
  bpchar_type = 1042,
  varchar_type = 1043,
  timestamptz_type = 1184,
  uuid_type = 2950,
  void_type = 2278,
  jsonb_type = 3802
};

}  // namespace inboxd::inbox
