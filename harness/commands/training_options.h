// Options of the verbs that train: what is trained, and on which data.
#pragma once

#include "harness/options/option.h"

namespace thinpipe {

OptionInfo model_option();  ///< required
OptionInfo batch_option();
OptionInfo data_option();

}  // namespace thinpipe
