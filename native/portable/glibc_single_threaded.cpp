// native/portable/glibc_single_threaded.cpp
// The flag that tells std::shared_ptr to count without atomics, which older releases of glibc lack. Left at 0 it is
// right everywhere, and costs programs with one thread a little.
// Linked into each library that needs it, hidden (stubs.py).

extern "C" char __libc_single_threaded;
char __libc_single_threaded = 0;
