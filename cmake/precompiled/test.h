// For tests: cmake/ThinpipePrecompiled.cmake.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "cmake/precompiled/library.h"
