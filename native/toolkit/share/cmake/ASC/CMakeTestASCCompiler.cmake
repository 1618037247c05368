# Nothing to try: the compiler says itself what it lacks.
set(CMAKE_ASC_COMPILER_WORKS TRUE CACHE INTERNAL "")
