// Functions of the emitted autograd.cpp.

//@ needs gradient
bool has_gradient(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

bool has_tangent(const at::Tensor& tensor) { return tensor.defined() && tensor._fw_grad(0).defined(); }

template <typename Predicate>
bool any_tensor(Predicate predicate, const at::Tensor& tensor) {
  return predicate(tensor);
}

//@ optional
template <typename Predicate>
bool any_tensor(Predicate predicate, const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && predicate(*tensor);
}

//@ list
template <typename Predicate>
bool any_tensor(Predicate predicate, at::TensorList tensors) {
  return std::any_of(tensors.begin(), tensors.end(), predicate);
}

//@ optional list
template <typename Predicate>
bool any_tensor(Predicate predicate, const c10::List<std::optional<at::Tensor>>& tensors) {
  for (const std::optional<at::Tensor>& tensor : tensors) {
    if (any_tensor(predicate, tensor)) {
      return true;
    }
  }
  return false;
}

//@ needs gradient end
// Returns whether a graph has to be recorded; tangents of forward mode would be lost, so they are refused.
template <typename... Tensors>
bool needs_gradient(const char* op, const Tensors&... tensors) {
  TORCH_CHECK_NOT_IMPLEMENTED(!(any_tensor(has_tangent, tensors) || ...), op,
                              " has no forward-mode derivative; use reverse mode, for a Hessian "
                              "torch.func.jacrev(torch.func.jacrev(f))");
  return c10::GradMode::is_enabled() && (any_tensor(has_gradient, tensors) || ...);
}

//@ save list
std::vector<torch::autograd::SavedVariable> save(at::TensorList tensors) {
  std::vector<torch::autograd::SavedVariable> saved;
  for (const at::Tensor& tensor : tensors) {
    saved.emplace_back(tensor, false);
  }
  return saved;
}

std::vector<at::Tensor> unpack(const std::vector<torch::autograd::SavedVariable>& saved) {
  std::vector<at::Tensor> tensors;
  for (const torch::autograd::SavedVariable& variable : saved) {
    tensors.push_back(variable.unpack());
  }
  return tensors;
}

//@ save optional list
std::vector<torch::autograd::SavedVariable> save(const c10::List<std::optional<at::Tensor>>& tensors) {
  std::vector<torch::autograd::SavedVariable> saved;
  for (const std::optional<at::Tensor>& tensor : tensors) {
    saved.emplace_back(tensor.value_or(at::Tensor()), false);
  }
  return saved;
}

c10::List<std::optional<at::Tensor>> unpack_optional(const std::vector<torch::autograd::SavedVariable>& saved) {
  c10::List<std::optional<at::Tensor>> tensors;
  for (const torch::autograd::SavedVariable& variable : saved) {
    const at::Tensor tensor = variable.unpack();
    tensors.push_back(tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt);
  }
  return tensors;
}

//@ if defined
std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

//@ gradient list
// The gradients of a list of results, which stand side by side.
c10::List<std::optional<at::Tensor>> gradient_list(const variable_list& grads, size_t first, size_t count) {
  c10::List<std::optional<at::Tensor>> gradients;
  for (size_t i = first; i < first + count; ++i) {
    gradients.push_back(grads[i].defined() ? std::optional<at::Tensor>(grads[i]) : std::nullopt);
  }
  return gradients;
}

//@ any defined
bool any_defined(const variable_list& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) { return tensor.defined(); });
}

//@ new node
// A node of autograd's graph, held as this torch holds them: in an intrusive pointer or in a shared one.
template <typename Created, typename... Arguments>
auto new_node(Arguments&&... arguments) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, Created>) {
    return c10::make_intrusive<Created>(std::forward<Arguments>(arguments)...);
  } else {
    // As torch makes its own: a long graph does not end in a recursion.
    return std::shared_ptr<Created>(new Created(std::forward<Arguments>(arguments)...),
                                    [](Created* node) { deleteNode(node); });
  }
}

//@ refuse
// An output that is saved but not differentiable has a place in the graph, so that a gradient that depends on it
// cannot be differentiated again without an error.
void refuse_gradient(const variable_list& grads, size_t index, const char* output) {
  TORCH_CHECK(index >= grads.size() || !grads[index].defined(), output,
              ": a gradient that depends on a saved output cannot be differentiated again; make it a differentiable "
              "output, or compute it again from the arguments in the backward; if it is a constant, detach() it there");
}

//@ nested
// While an operator runs for the outer transformations of torch.func, whose outputs keep their history.
class Nested {
 public:
  explicit Nested(bool& flag) : flag_(flag), before_(flag) { flag_ = true; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { flag_ = before_; }

 private:
  bool& flag_;
  bool before_;
};

//@ unimplemented
using torch::autograd::NotImplemented;

//@ is differentiable
bool is_differentiable(const at::Tensor& tensor) {
  return tensor.defined() && torch::autograd::isDifferentiableType(tensor.scalar_type());
}

//@ if differentiable
// A result whose dtype has no gradients keeps its place among the outputs of the node.
at::Tensor if_differentiable(const at::Tensor& result) { return is_differentiable(result) ? result : at::Tensor(); }

//@ new unimplemented
template <typename Pointer>
void record_new(const at::Tensor& result, const Pointer& node) {
  if (is_differentiable(result)) {
    torch::autograd::set_history(result, node);
  }
}

//@ written unimplemented
template <typename Pointer>
void record_written(const at::Tensor& argument, const Pointer& node) {
  if (is_differentiable(argument)) {
    torch::autograd::rebase_history(argument, node);
  }
}
