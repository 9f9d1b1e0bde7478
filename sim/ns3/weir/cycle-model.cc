#include "cycle-model.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>

#ifndef WEIR_MODELS
#define WEIR_MODELS "build/model"
#endif

namespace weirsim {

namespace {

template <typename F>
void find(void *library, const std::string &path, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, (std::string("weir_model_") + name).c_str()));
  if (!function) throw std::runtime_error("the cycle model " + path + " has no function weir_model_" + name);
}

CycleModel open(const std::string &path) {
  if (access(path.c_str(), R_OK) != 0)
    throw std::runtime_error("the cycle model is missing: " + path + "; run `make model`, or set WEIR_MODEL");
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error("the cycle model cannot be loaded: " + std::string(dlerror()));
  CycleModel m;
  find(library, path, "rtl", m.rtl);
  find(library, path, "create", m.create);
  find(library, path, "destroy", m.destroy);
  find(library, path, "set", m.set);
  find(library, path, "get", m.get);
  find(library, path, "send", m.send);
  find(library, path, "run_until", m.runUntil);
  find(library, path, "received", m.received);
  find(library, path, "recv", m.recv);
  find(library, path, "traced", m.traced);
  find(library, path, "trace", m.trace);
  find(library, path, "csr_read", m.csrRead);
  find(library, path, "csr_write", m.csrWrite);
  return m;
}

}  // namespace

const CycleModel &CycleModel::load(const std::string &path, const std::string &core) {
  static std::mutex mutex;
  static auto &loaded = *new std::map<std::string, CycleModel>;  // for good: cores may be at work until the process ends
  const char *named = std::getenv("WEIR_MODEL");
  const std::string from = !path.empty() ? path : named ? named : WEIR_MODELS "/" + core + "/libweir_model.so";
  const std::lock_guard<std::mutex> lock(mutex);
  const auto at = loaded.find(from);
  return at != loaded.end() ? at->second : loaded.emplace(from, open(from)).first->second;
}

}  // namespace weirsim
