// Recipes that train: does the compressor still learn? One file each.
#pragma once

#include "harness/reproduce/recipe.h"

namespace thinpipe {

Recipe dgc_figure_3();      ///< DGC's techniques one by one
Recipe error_feedback();    ///< what is not sent: kept, or lost
Recipe threelc_table_1();   ///< accuracy of 3LC and what it was compared with
Recipe sbc_figure_3();      ///< sparsity in time and in space, one against the other
Recipe variance_table_1();  ///< Strom, variance, both
Recipe modern_methods();    ///< what came after the papers

/// Four workers' LeNet-5 on drawn digits, at a rate that does not matter: arguments of
/// `thinpipe train` that most recipes share.
std::vector<std::string> small_images();
/// Likewise: the character LSTM.
std::vector<std::string> small_text();

}  // namespace thinpipe
