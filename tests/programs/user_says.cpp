// The same in C++, where regions and phases are as long as a scope.
#include "user_says.c"
