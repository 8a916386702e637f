// Strom's values: a fixed step with a sign, one bit each.
#pragma once

#include <memory>

#include "compressors/encode/value_codec.h"

namespace thinpipe {

/// Values decode to +tau or -tau, which both ends know from the spec. 1 bit each, set for negative
/// ones, lowest bit first; what is left of the last byte is 0 and not looked at.
std::unique_ptr<ValueCodec> make_tau_codec(float tau);

}  // namespace thinpipe
