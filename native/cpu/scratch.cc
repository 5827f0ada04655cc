#include "scratch.h"

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace uhop {

namespace {

constexpr std::size_t kGranule = 4096;
constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kKeptBytes = 64 << 20;
constexpr std::size_t kKeptBuffers = 64;

struct Buffer {
  void* data;
  std::size_t bytes;
};

struct Shelf {
  std::mutex mutex;
  std::vector<Buffer> buffers;
  std::size_t bytes = 0;

  Shelf() { buffers.reserve(kKeptBuffers); }
};

// Never destroyed: a pool thread may still give a buffer back while the process exits.
Shelf& shelf() {
  static Shelf* const one = new Shelf;
  return *one;
}

// The smallest kept buffer that is large enough and not wastefully larger.
bool take(std::size_t bytes, Buffer& taken) {
  Shelf& kept = shelf();
  const std::lock_guard lock(kept.mutex);
  auto best = kept.buffers.end();
  for (auto it = kept.buffers.begin(); it != kept.buffers.end(); ++it) {
    if (it->bytes < bytes || it->bytes > 4 * bytes) continue;
    if (best == kept.buffers.end() || it->bytes < best->bytes) best = it;
  }
  if (best == kept.buffers.end()) return false;
  taken = *best;
  kept.bytes -= best->bytes;
  *best = kept.buffers.back();
  kept.buffers.pop_back();
  return true;
}

bool keep(Buffer buffer) {
  Shelf& kept = shelf();
  const std::lock_guard lock(kept.mutex);
  if (kept.buffers.size() == kKeptBuffers || kept.bytes + buffer.bytes > kKeptBytes) return false;
  kept.buffers.push_back(buffer);
  kept.bytes += buffer.bytes;
  return true;
}

/** Large buffers on huge pages where the system has them: packed panels jump between pages all the time. */
Buffer allocate(std::size_t bytes) {
  const bool large = bytes >= kHugePage;
  const std::size_t granule = large ? kHugePage : kGranule;
  if (bytes > SIZE_MAX - granule) throw std::bad_alloc();
  bytes = (bytes + granule - 1) / granule * granule;
  void* const data = std::aligned_alloc(large ? kHugePage : kAlignment, bytes);
  if (data == nullptr) throw std::bad_alloc();
  if (large) prefer_huge_pages(data, bytes);
  return {data, bytes};
}

}  // namespace

void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
  const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const std::uintptr_t until = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (until > from) madvise(reinterpret_cast<void*>(from), until - from, MADV_HUGEPAGE);
#endif
}

Scratch::Scratch(std::size_t bytes) {
  if (bytes == 0) return;
  Buffer buffer{};
  if (!take(bytes, buffer)) buffer = allocate(bytes);
  data_ = buffer.data;
  bytes_ = buffer.bytes;
}

Scratch::~Scratch() {
  if (data_ != nullptr && !keep({data_, bytes_})) std::free(data_);
}

Scratch::Scratch(Scratch&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace uhop
