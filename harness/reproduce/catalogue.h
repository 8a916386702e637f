// Every recipe, one file each.
#pragma once

#include "harness/reproduce/recipe.h"

namespace thinpipe {

Recipe threelc_table_1();   ///< speed-up of eleven designs with a parameter server
Recipe threelc_table_2();   ///< how small 3LC makes pushes and pulls
Recipe threelc_figure_4();  ///< accuracy against time, trained for a quarter to all of the steps
Recipe threelc_figure_9();  ///< the same over a training
Recipe threelc_accuracy();  ///< accuracy of 3LC and what it was compared with
Recipe sidco_figure_1();    ///< speed over Top-k and estimation quality
Recipe sidco_figure_2();    ///< distributions fitted to gradients
Recipe sidco_figure_3();    ///< speed-up to a target
Recipe sidco_figure_5();    ///< the same of two convolutional networks
Recipe sidco_figure_7();    ///< decay of sorted magnitudes
Recipe sidco_figure_9();    ///< estimation quality over steps
Recipe sidco_figure_16();   ///< speed at four sizes
Recipe sbc_table_1();       ///< rates, computed and encoded
Recipe sbc_equation_5();    ///< bits of a position
Recipe sbc_figure_3();      ///< sparsity in time and in space, one against the other
Recipe sbc_table_2();       ///< quality and rate of SBC's settings
Recipe variance_table_1();  ///< Strom, variance, both, with Adam
Recipe variance_table_2();  ///< the same with momentum SGD
Recipe variance_speedup();  ///< speed-up of an exchange by a model
Recipe dgc_figure_3();      ///< DGC's techniques one by one
Recipe dgc_figure_6();      ///< speed-up with the number of nodes
Recipe dgc_table_2();       ///< accuracy with more workers
Recipe dgc_table_3();       ///< sizes of gradients
Recipe error_feedback();    ///< what is not sent: kept, or lost
Recipe error_feedback_with_momentum();
Recipe modern_methods();  ///< what came after the papers

}  // namespace thinpipe
