/* The layout of every struct of the contract, as one language standard sees it. */
#ifndef CONTRACT_LAYOUT_H
#define CONTRACT_LAYOUT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A struct (field NULL, offset 0, its size) or a field of the struct before. */
typedef struct layout_entry {
  const char* type;
  const char* field;
  size_t offset;
  size_t size;
} layout_entry;

/* All entries; the last has a NULL type. */
const layout_entry* layout_c99(void);
const layout_entry* layout_c11(void);
const layout_entry* layout_cxx17(void);
const layout_entry* layout_cxx20(void);

#ifdef __cplusplus
}
#endif

#endif
