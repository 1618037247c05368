// native/portable/glibc_single_threaded.cpp
// What tells std::shared_ptr to count without atomics, which older releases of glibc lack. Never set, it is right
// everywhere, and costs programs of one thread a little.
// Linked into each library that needs it, hidden (stubs.py).

extern "C" char __libc_single_threaded;
char __libc_single_threaded = 0;
