# native/cmake/aarch64.cmake
# Toolchain: Debian's cross compiler for AArch64 (g++-aarch64-linux-gnu). Python is that of the target, which runs under
# qemu-user (tools/aarch64.py).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)  # notes that GCC 10 passes some types otherwise than its predecessors
