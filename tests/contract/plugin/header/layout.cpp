// The source of layout.c, compiled as C++.
#include "layout.c"
