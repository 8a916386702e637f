// 3LC's MQE 1-bit int: one bit an element and the tensor's two means.
#include "compressors/methods/two_means.h"

namespace thinpipe {
namespace {

const Registration kMqe{two_means_method({
    .name = "mqe1bit",
    .source = "Lim et al., 3LC, section 5.1: MQE 1-bit int; means of the whole tensor",
    .columns = "false",
})};

}  // namespace
}  // namespace thinpipe
