// native/support/empty.cpp
// The content of libraries that are only named: none.
