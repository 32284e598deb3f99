// The same source, compiled as C++.
#include "layout.c"
