// Operators of one library: some sound, some broken on purpose.
#include <torch/library.h>

#define CONCAT(a, b) a##b
#define LIBRARY(name, m) TORCH_LIBRARY(name, m)

namespace lab {

const char *kUnused = "Zähler";

at::Tensor gate(const at::Tensor &x, int64_t k);
void store(const at::Tensor &cache, const at::Tensor &x);
at::Tensor rotate(const at::Tensor &x, const at::Tensor &cos, const c10::optional<at::Tensor> &sin);
std::tuple<at::Tensor, at::Tensor> sort(const at::Tensor &x, bool descending);
at::Tensor attend(const at::Tensor &q, const at::Tensor &cache, double scale);
void shuffle(const at::Tensor &x, const at::Tensor &order);
at::Tensor roll(const at::Tensor &x, const at::Tensor &state);
void shared_read(const at::Tensor &x, const at::Tensor &y);
void shared_write(const at::Tensor &x, const at::Tensor &y);

template <typename T>
at::Tensor scaled(const at::Tensor &x)
{
    return x * 2;
}

at::Tensor gate_meta(const at::Tensor &x, int64_t k)
{
    return at::empty_symint({x.sym_size(0), c10::SymInt(k)}, x.options());
}

at::Tensor rows_of(const at::Tensor &x)
{
    auto sizes = x.sizes();
    return at::empty({sizes[0]}, x.options());
}

std::tuple<at::Tensor, at::Tensor> sort_meta(const at::Tensor &x, bool descending)
{
    return std::make_tuple(at::empty_like(x), rows_of(x));
}

} // namespace lab

TORCH_LIBRARY_FRAGMENT(CONCAT(la, b), m)
{
    m.def(
        "gate(Tensor x, "
        R"(int k=8) -> )"
        "Tensor");
    m.def("store(Tensor cache, Tensor x) -> ()");
    m.def("rotate(Tensor x, Tensor cos, Tensor? sin=None) -> Tensor");
    m.def(TORCH_SELECTIVE_SCHEMA("lab::sort(Tensor x, bool descending=False) -> (Tensor, Tensor)"));
    m.def("attend(Tensor q, Tensor cache, float scale=1.0) -> Tensor");
    m.def("twice(Tensor x) -> Tensor", &lab::scaled<float>);
    m.def("shift(Tensor x, int by=None) -> Tensor", [](const at::Tensor &x, int64_t by) { return x + by; });
    m.def("wrong(Tensor x -> Tensor");
    m.def("shuffle(Tensor x, Tensor order) -> ()");
    m.def("roll(Tensor x, Tensor state) -> Tensor");
    m.def("shared_read(Tensor x, Tensor(a!) y) -> ()");
    m.def("shared_write(Tensor(a!) x, Tensor y) -> ()");
#ifdef CHIP_A
    m.def("only_here(Tensor x) -> Tensor", [](const at::Tensor &x) { return x.clone(); });
#else
    m.def("only_here(Tensor x, int k) -> Tensor", [](const at::Tensor &x, int64_t k) { return x.clone(); });
#endif
    // opwright-lint: ignore[void-pure] the tensor stays as it is: it is printed
    m.def("show(Tensor x) -> ()");
}

TORCH_LIBRARY_IMPL(lab, PrivateUse1, m)
{
    m.impl("gate", TORCH_FN(lab::gate));
    m.impl("store", &lab::store);
    m.impl("rotate", static_cast<at::Tensor (*)(const at::Tensor &, const at::Tensor &,
                                                const c10::optional<at::Tensor> &)>(&lab::rotate));
    m.impl("attend", torch::dispatch(c10::DispatchKey::PrivateUse1, TORCH_FN(lab::attend)));
    m.impl("sort", lab::sort_npu);
    m.impl("shuffle", TORCH_FN(lab::shuffle));
    m.impl("roll", TORCH_FN(lab::roll));
    m.impl("shared_read", TORCH_FN(lab::shared_read));
    m.impl("shared_write", TORCH_FN(lab::shared_write));
    m.impl("show", [](const at::Tensor &x) { print(x); });
}

TORCH_LIBRARY_IMPL(lab, Meta, m)
{
    m.impl("gate", TORCH_FN(lab::gate_meta));
    m.impl("sort", TORCH_FN(lab::sort_meta));
    m.impl("show", [](const at::Tensor &) {});
}
