// oneDNN 2 as a program in C++ would call it. Weights that may be known ahead are in the library's own form before the
// clock starts. Plain x and result: the library may work on forms of its own, and what it takes to bring x there and
// the result back is in the time. Blocked: only the primitive is, x and result staying in those forms.
#include <dnnl_version.h>
#include <omp.h>

#include <dnnl.hpp>
#include <vector>

#include "ops.h"

#if DNNL_VERSION_MAJOR != 2
#error this peer is written for oneDNN 2
#endif

using namespace peer;
using dnnl::memory;
using Dims = memory::dims;

namespace {

constexpr auto f32 = memory::data_type::f32;
constexpr auto any = memory::format_tag::any;

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

Library& library() {
  static Library instance;
  return instance;
}

memory wrap(const memory::desc& desc, float* data) { return memory(desc, library().engine, data); }

void reorder(memory from, memory to) {
  dnnl::reorder(from, to).execute(library().stream, from, to);
  library().stream.wait();
}

/** The primitives of one call in their order. */
struct Steps {
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, memory>>> list;

  void move(memory from, memory to) {
    list.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
  }
  void operator()() const {
    for (const auto& [primitive, arguments] : list) primitive.execute(library().stream, arguments);
    library().stream.wait();
  }
};

/** Another memory of the wanted form where that differs. */
memory in_form(const memory& plain, const memory::desc& wanted) {
  return plain.get_desc() == wanted ? plain : memory(wanted, library().engine);
}

Case matmul(std::istream& words) {
  auto op = std::make_shared<Matmul>(words);
  omp_set_num_threads(int(op->threads));
  const long M = op->M, N = op->N, K = op->K, items = op->items;
  const long countA = op->strideA == 0 ? 1 : items, countB = op->strideB == 0 ? 1 : items;
  const Dims rows = op->transposeA ? Dims{M * K, 1, M} : Dims{M * K, K, 1};
  const Dims columns = op->transposeB ? Dims{K * N, 1, K} : Dims{K * N, N, 1};
  const memory::desc a({countA, M, K}, f32, rows), out({items, M, N}, f32, Dims{M * N, N, 1});
  const memory::desc b({countB, K, N}, f32, columns), free({countB, K, N}, f32, any);
  const dnnl::matmul::primitive_desc pd({a, op->ahead ? free : b, out}, library().engine);
  memory plain = wrap(b, op->b.get()), weights = in_form(plain, pd.weights_desc());
  if (weights != plain) reorder(plain, weights);
  Steps steps;
  steps.list.push_back(
      {dnnl::matmul(pd),
       {{DNNL_ARG_SRC, wrap(a, op->a.get())}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, wrap(out, op->out.get())}}});
  return computed(op, op->out.get(), op->length(), pd.impl_info_str(), steps);
}

Case conv2d(std::istream& words) {
  auto op = std::make_shared<Conv2d>(words);
  omp_set_num_threads(int(op->threads));
  using Tag = memory::format_tag;
  const long G = op->groups, share = op->C / G;
  const Dims xDims{op->batch, op->C, op->H, op->W}, outDims{op->batch, op->O, op->OH, op->OW};
  const Dims wDims = G > 1 ? Dims{G, op->O / G, share, op->KH, op->KW} : Dims{op->O, share, op->KH, op->KW};
  const Tag tag = op->nhwc ? Tag::nhwc : Tag::nchw;
  const Tag wTag = op->nhwc ? (G > 1 ? Tag::hwigo : Tag::hwio) : (G > 1 ? Tag::goihw : Tag::oihw);
  const dnnl::convolution_forward::primitive_desc pd({dnnl::prop_kind::forward_inference,
                                                      dnnl::algorithm::convolution_auto,
                                                      {xDims, f32, any},
                                                      {wDims, f32, any},
                                                      {outDims, f32, any},
                                                      Dims{op->strideH, op->strideW},
                                                      Dims{op->top, op->left},
                                                      Dims{op->bottom, op->right}},
                                                     library().engine);
  memory x = wrap({xDims, f32, tag}, op->x.get()), out = wrap({outDims, f32, tag}, op->out.get());
  memory w = wrap({wDims, f32, wTag}, op->w.get());
  memory ownX = in_form(x, pd.src_desc()), ownW = in_form(w, pd.weights_desc()), ownOut = in_form(out, pd.dst_desc());
  if (ownW != w) reorder(w, ownW);
  if (ownX != x) reorder(x, ownX);
  Steps steps;
  if (!op->blocked && ownX != x) steps.move(x, ownX);
  steps.list.push_back(
      {dnnl::convolution_forward(pd), {{DNNL_ARG_SRC, ownX}, {DNNL_ARG_WEIGHTS, ownW}, {DNNL_ARG_DST, ownOut}}});
  if (!op->blocked && ownOut != out) steps.move(ownOut, out);
  const std::string forms = ownX == x && ownOut == out ? " on plain x and result" : " on forms of its own";
  Case result = computed(op, op->out.get(), op->length(), pd.impl_info_str() + forms, steps);
  if (op->blocked && ownOut != out) result.finish = [=] { reorder(ownOut, out); };
  return result;
}

}  // namespace

int main() {
  const dnnl_version_t& v = *dnnl_version();
  const auto version = std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
  serve("onednn " + version, {{"matmul", matmul}, {"conv2d", conv2d}});
}
