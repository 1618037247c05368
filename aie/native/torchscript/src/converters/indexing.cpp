// converters/indexing.cpp: parts of tensors, and elements at places that tensors give.
#include "converters/by_schema.h"

namespace torch_aie::core::conversion::converters {

namespace {

constexpr SchemaRow kIndexingRows[] = {
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", "GatherElements"},
    {"aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor",
     "GridSample"},
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", "Index"},
    {"aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", "Index"},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", "IndexAdd"},
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", "IndexPut"},
    {"aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
     "IndexPut"},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", "IndexSelect"},
    {"aten::narrow(Tensor self, int dim, int start, int length) -> Tensor", "Narrow"},
    {"aten::narrow.Tensor(Tensor self, int dim, Tensor start, int length) -> Tensor", "NarrowTensor"},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", "ScatterElements"},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", "ScatterValue"},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", "ScatterAdd"},
    {"aten::select.int(Tensor self, int dim, int index) -> Tensor", "SelectIndex"},
    {"aten::slice.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
     "SliceDimension"},
};

const auto g_indexing_rows = by_schema(kIndexingRows);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
