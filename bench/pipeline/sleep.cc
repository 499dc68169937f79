// A call that takes a fixed time and no core, in place of what a phase computes: overlap.py.

#include <chrono>
#include <cstdint>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

ffi::Error Sleep(int64_t microseconds, ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    MeshwrightSleep, Sleep,
    ffi::Ffi::Bind().Attr<int64_t>("microseconds").Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
