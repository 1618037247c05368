// operations/tables.cpp: finding an operation by its name.
#include "operations/tables.h"

namespace AscendIE {

const Operation* find_operation(std::string_view name) {
  for (const Table table :
       {activations(),   arithmetic(), attention(), convolutions(), creation(),   indexing(),   moves(),
        normalization(), pooling(),    products(),  quantization(), recurrent(),  reductions(), resizing(),
        scaling(),       selections(), shapes(),    sizes(),        statistics(), views()}) {
    for (const Operation& operation : table) {
      if (operation.name == name) return &operation;
    }
  }
  return nullptr;
}

}  // namespace AscendIE
