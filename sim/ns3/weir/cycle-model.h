// The cycle model's C functions, loaded at run time, so that a missing model is a sentence and not a loader's error.

#pragma once

#include <string>

#include "weir_model.h"

namespace weirsim {

/// The functions of weir_model.h by their names without `weir_model_`.
struct CycleModel {
  decltype(&weir_model_rtl) rtl;
  decltype(&weir_model_create) create;
  decltype(&weir_model_destroy) destroy;
  decltype(&weir_model_set) set;
  decltype(&weir_model_get) get;
  decltype(&weir_model_send) send;
  decltype(&weir_model_run_until) runUntil;
  decltype(&weir_model_received) received;
  decltype(&weir_model_recv) recv;
  decltype(&weir_model_traced) traced;
  decltype(&weir_model_trace) trace;
  decltype(&weir_model_csr_read) csrRead;
  decltype(&weir_model_csr_write) csrWrite;

  /// Loads `path`; empty: the environment's WEIR_MODEL, or that of `core` in the tree that this library was built in. Loaded
  /// once, for good. Throws std::runtime_error.
  static const CycleModel &load(const std::string &path, const std::string &core);
};

}  // namespace weirsim
