// native/portable/libstdcxx_streams.cpp
// Members of string streams that headers expect in libstdc++, and that older releases of it lack.
// Linked into each library that needs it, hidden (stubs.py): the members of the static library that define these define
// much else.
#include <sstream>

namespace std {

template basic_ostringstream<char>::basic_ostringstream();
template basic_istringstream<char>::basic_istringstream();
template basic_stringstream<char>::basic_stringstream();
template basic_stringbuf<char>::basic_stringbuf();
template string basic_stringbuf<char>::str() const&;
template string basic_stringbuf<char>::str() &&;

}  // namespace std
