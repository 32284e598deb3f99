/* Compiled once for each language standard; LAYOUT is the name of the function. */
#include <inboxd/handler.h>
#include <inboxd/json.h>
#include <inboxd/outbox.h>
#include <inboxd/sql.h>
#include <inboxd/trace.h>

#include "layout.h"

const layout_entry* LAYOUT(void) {
#define STRUCT(type) {#type, NULL, 0, sizeof(type)},
#define FIELD(type, field) {#type, #field, offsetof(type, field), sizeof(((type*)NULL)->field)},
  static const layout_entry entries[] = {
#include "fields.inc"
      {NULL, NULL, 0, 0}};
  return entries;
}
