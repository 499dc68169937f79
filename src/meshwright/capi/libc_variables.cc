// Debian 12 builds archives (abseil, yaml-cpp) for executables: their code reaches variables of the
// C library as if they were part of the same program. A shared library is linked with such code
// only if it has those variables itself.

#include <dlfcn.h>

#include <cstdio>

extern "C" {

// Whether the program has only one thread. Zero is always right: it says "maybe more".
char __libc_single_threaded = 0;

// Points where the C library's does, from before any other code of this library runs.
FILE* stderr = nullptr;

__attribute__((constructor(101))) static void FindStandardError() {
  stderr = *static_cast<FILE**>(dlsym(RTLD_DEFAULT, "stderr"));
}

}  // extern "C"
