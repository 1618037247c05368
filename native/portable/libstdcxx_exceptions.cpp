// native/portable/libstdcxx_exceptions.cpp
// Functions that headers call to throw and to count exceptions, and that older releases of libstdc++ lack.
// Linked into each library that needs it, hidden (stubs.py): the members of the static library that define these define
// much else.
#include <exception>
#include <new>

// Members that every release exports. The headers define them inline, by means of the functions below.
void copy_pointer(void* to, const void* from) noexcept __asm__("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void destroy_pointer(void* pointer) noexcept __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");

namespace std {

namespace __exception_ptr {

void exception_ptr::_M_addref() noexcept {
  alignas(exception_ptr) unsigned char counted[sizeof(exception_ptr)];
  copy_pointer(counted, this);
}

void exception_ptr::_M_release() noexcept { destroy_pointer(this); }

}  // namespace __exception_ptr

void __throw_bad_array_new_length() { throw bad_array_new_length(); }

}  // namespace std
