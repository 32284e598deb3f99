// The same text, read as C++.
#include "layout.c"
