#include "aclnn_attend.h"

namespace lab {

static void write_slot(const at::Tensor &cache, const at::Tensor &x)
{
    auto slot = cache.select(0, 0);
    slot.copy_(x);
}

at::Tensor gate(const at::Tensor &x, int64_t k)
{
    at::Tensor out = at::empty({x.size(0), k}, x.options());
    EXEC_NPU_CMD(aclnnGate, x, k, out);
    return out;
}

void store(const at::Tensor &cache, const at::Tensor &x)
{
    TORCH_CHECK(cache.dim() == x.dim() + 1, "cache has one dimension more");
    write_slot(cache, x);
}

at::Tensor rotate(const at::Tensor &x, const at::Tensor &cos, const c10::optional<at::Tensor> &sin)
{
    if (x.numel() == 0) {
        return x;
    }
    return sin.has_value() ? x * cos + *sin : x * cos;
}

at::Tensor attend(const at::Tensor &q, const at::Tensor &cache, double scale)
{
    at::Tensor out = at::empty_like(q);
    EXEC_NPU_CMD(aclnnAttend, q, cache, scale, out);
    return out;
}

void shuffle(const at::Tensor &x, const at::Tensor &order)
{
    uint32_t blocks = 8;
    EXEC_KERNEL_CMD(shuffle_rows, blocks, x, order);
}

at::Tensor roll(const at::Tensor &x, const at::Tensor &state)
{
    at::Tensor out = at::empty_like(x);
    int64_t steps = 1;
    EXEC_NPU_CMD(aclnnRollState, x, state, steps, out);
    return out;
}

void shared_read(const at::Tensor &x, const at::Tensor &y)
{
    EXEC_KERNEL_CMD(exchange, 8, x, y);
}

void shared_write(const at::Tensor &x, const at::Tensor &y)
{
    EXEC_KERNEL_CMD(exchange, 8, x, y);
}

} // namespace lab
