// 1-bit SGD: one bit an element and two means of every column.
#include "compressors/methods/two_means.h"

namespace thinpipe {
namespace {

const Registration kOneBit{two_means_method({
    .name = "onebit",
    .source = "Seide et al., 1-bit SGD, 2014, section 3.3; means of every column",
    .columns = "true",
})};

}  // namespace
}  // namespace thinpipe
