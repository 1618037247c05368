"""Builds the converters as libraries that torch.ops.load_library takes."""

from setuptools import setup
from torch.utils import cpp_extension

from torch_aie.prefix import PREFIX


def converters(name, source):
    """Return the library of one source; it finds libtorch_aie in the process that loads it."""
    return cpp_extension.CppExtension(
        name,
        [source],
        include_dirs=[str(PREFIX / "include")],
        library_dirs=[str(PREFIX / "lib")],
        libraries=["torch_aie"],
        # A converter runs once. Debug information of libtorch's headers is half of the build.
        extra_compile_args=["-O1", "-g0"],
    )


setup(
    name="custom_converter",
    ext_modules=[
        converters("custom_converter", "csrc/cumsum_converter.cpp"),
        converters("gelu_converter", "csrc/gelu_converter.cpp"),
    ],
    cmdclass={"build_ext": cpp_extension.BuildExtension},
)
