// OpenBLAS as a program in C would call it: cblas_sgemm, or cblas_sgemv for the product of a matrix and a vector.
#include <cblas.h>

#include "ops.h"

using namespace peer;

namespace {

Case matmul(std::istream& words) {
  auto op = std::make_shared<Matmul>(words);
  openblas_set_num_threads(int(op->threads));
  const long M = op->M, N = op->N, K = op->K;
  const auto ta = op->transposeA ? CblasTrans : CblasNoTrans;
  const auto tb = op->transposeB ? CblasTrans : CblasNoTrans;
  const long lda = op->transposeA ? M : K, ldb = op->transposeB ? K : N;
  const bool vector = M == 1 || N == 1;
  const auto call = [=, m = op.get()] {
    for (long i = 0; i < m->items; ++i) {
      const float* a = &m->a[i * m->strideA];
      const float* b = &m->b[i * m->strideB];
      float* out = &m->out[i * M * N];
      if (M == 1) {  // outᵀ = op(b)ᵀ·aᵀ
        cblas_sgemv(CblasRowMajor, m->transposeB ? CblasNoTrans : CblasTrans, m->transposeB ? N : K,
                    m->transposeB ? K : N, 1, b, ldb, a, 1, 0, out, 1);
      } else if (N == 1) {
        cblas_sgemv(CblasRowMajor, ta, m->transposeA ? K : M, m->transposeA ? M : K, 1, a, lda, b, 1, 0, out, 1);
      } else {
        cblas_sgemm(CblasRowMajor, ta, tb, M, N, K, 1, a, lda, b, ldb, 0, out, N);
      }
    }
  };
  return computed(op, op->out.get(), op->length(), vector ? "sgemv" : "sgemm", call);
}

}  // namespace

int main() {
  serve("openblas " + std::string(openblas_get_config()) + " kernel " + openblas_get_corename(), {{"matmul", matmul}});
}
