// Every element as a 16-bit float: IEEE 754 binary16.
#include "compressors/methods/half.h"

namespace thinpipe {
namespace {

const Registration kFp16{half_method("fp16", "every element as a 16-bit float, IEEE 754 binary16",
                                     ElementType::kFloat16)};

}  // namespace
}  // namespace thinpipe
